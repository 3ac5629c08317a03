// SPDX-License-Identifier: Apache-2.0
// The comparison of `trace diff`: the verdict on all runs, what differs between them, and a table for each metric.
import { counted, element } from './dom.js';
import { table } from './tables.js';

const METRICS = [
	['processor time (ns)', 'Processor time of a run'],
	['samples', 'CPU samples of a run'],
	['typical (ns)', 'Typical time of one'],
	['total (ns)', 'Total time'],
	['count', 'Number of events'],
	['bytes', 'Bytes'],
];
const ORDER = { worse: 0, better: 1, changed: 2 };

// A number that JSON cannot hold is a text.
const number = (value) => (value === 'inf' ? Infinity : value);

function percent(ratio) {
	if (ratio === Infinity) return 'from 0';
	return `${ratio < 1 ? '\u2212' : '+'}${Math.abs(100 * (ratio - 1)).toFixed(2)} %`;
}

const nameOf = ({ path, kind, name, lines }) =>
	(path ? `${path}${kind === 'range' ? '/' : ': '}${name}` : name) + (lines ? ` at ${lines}` : '');

function metricTable(metric, findings) {
	const side = { ns: / \(ns\)$/.test(metric), bytes: metric === 'bytes' };
	const columns = [
		[{ title: 'Result', text: true }, (each) => each.result + (each.presence ? ` (${each.presence})` : '')],
		[{ title: 'Kind', text: true }, (each) => each.kind],
		[{ title: 'Name', text: true }, nameOf],
		[{ title: 'A', ...side }, (each) => each.base],
		[{ title: 'B', ...side }, (each) => each.other],
		[
			{ title: 'Change', show: percent },
			(each) => number(each.ratio) ?? (each.base && each.other != null ? each.other / each.base : null),
		],
		[{ title: 'p', show: (p) => p.toPrecision(2) }, (each) => each.p],
		[
			{ title: 'Noise (%)', show: (value) => value.toFixed(2) },
			(each) => (each.noise_floor == null ? null : 100 * number(each.noise_floor)),
		],
	].filter(([, value]) => findings.some((each) => value(each) != null));
	return table(
		columns.map(([column]) => column),
		findings.map((each) => columns.map(([, value]) => value(each))),
	);
}

export function verdict(data) {
	const size = (each) => Math.abs((each.other ?? 0) - (each.base ?? 0)),
		findings = [...data.findings].sort((a, b) => (ORDER[a.result] ?? 3) - (ORDER[b.result] ?? 3) || size(b) - size(a)),
		lines = [
			...data.differences.map((each) => `differs: ${each.name}: ${each.base ?? 'none'} \u2192 ${each.other ?? 'none'}`),
			...data.problems.map((each) => `${each.side} run '${each.path}': ${each.text}`),
			...data.notes,
		];
	const parts = METRICS.map(([metric, title]) => [metric, title, findings.filter((each) => each.metric === metric)]);
	return element(
		'section',
		{ id: 'verdict', class: 'part' },
		element('h2', {}, 'Verdict'),
		element(
			'p',
			{ class: `verdict ${{ ok: 'good', worse: 'bad' }[data.verdict] || ''}` },
			`${data.verdict}: ${data.reason}`,
		),
		element(
			'p',
			{ class: 'hint' },
			`A: ${counted(data.base.length, 'run')}, B: ${counted(data.other.length, 'run')}; ` +
				`${counted(data.tested, 'metric')} compared. Below, the median run of each side is shown.`,
		),
		lines.length ? element('ul', {}, ...lines.map((line) => element('li', {}, line))) : null,
		...parts
			.filter(([, , rows]) => rows.length)
			.map(([metric, title, rows]) =>
				element(
					'details',
					{ open: true },
					element('summary', {}, title, element('small', {}, ` ${counted(rows.length, 'difference')}`)),
					metricTable(metric, rows),
				),
			),
		findings.length ? null : element('p', { class: 'hint' }, 'nothing differs'),
	);
}
