// SPDX-License-Identifier: Apache-2.0
// The first screen: what ran, how it ended, the verdict, and the largest costs with links to their tables.
import { counted, duration, element, grouped } from './dom.js';

// The facts that readers look for first; all others are folded.
const FIRST = [
	'command',
	'ended',
	'lasted',
	'GPU',
	'device',
	'host',
	'began',
	'system',
	'version',
	'events',
	'problems',
];
const WAITS_NAMED = 3;

export function fact(report, label) {
	const found = report.facts.find(([name]) => name === label);
	return found ? found[1] : '';
}

// Return the name of a file without folders, and the program that ran, where it is known: not env, which
// only executed it.
export function titleOf(report) {
	const base = (path) => path.replace(/.*\//, ''),
		first = report.processes.length ? report.processes[0][0] : 0,
		known = report.timeline.names_of_processes.find(([, pid]) => pid === first),
		program = base((first && known?.[2]) || fact(report, 'command').split(' ')[0]);
	return base(fact(report, 'file')) + (program ? ` (${program})` : '');
}

export const tableId = (index, name) => `table-${index}-${name}`;

// Open the table of a cost and mark its row.
function show(id, name) {
	const table = document.getElementById(id);
	table.open = true;
	for (const row of table.querySelectorAll('tbody tr'))
		row.classList.toggle(
			'marked',
			[...row.children].some((cell) => cell.title === name),
		);
}

function costs(report, index) {
	const { costs: shown, costs_left_out: leftOut } = report;
	if (!shown.length) return null;
	const link = (cost) => {
		const id = tableId(index, cost.table);
		return element('a', { href: `#${id}`, title: cost.name, onclick: () => show(id, cost.name) }, cost.name);
	};
	const waits = (cost) => (cost.waits ? ', waiting' : cost.may_wait ? ', may have waited' : '');
	const about = (cost) =>
		` ${duration(cost.ns)}${cost.count && ` in ${cost.count}`}${waits(cost)} \u00b7 ${cost.title}`;
	return element(
		'div',
		{ class: 'costs' },
		element('h3', {}, 'Largest costs'),
		element('ol', {}, ...shown.map((cost) => element('li', {}, link(cost), element('small', {}, about(cost))))),
		leftOut.length
			? element(
					'p',
					{ class: 'hint left-out' },
					'Of OS functions that wait, only the longest is listed; also long: ',
					...leftOut.slice(0, WAITS_NAMED).flatMap((cost, at) => [at ? ', ' : '', link(cost), ` ${duration(cost.ns)}`]),
					leftOut.length > WAITS_NAMED ? `, and ${counted(leftOut.length - WAITS_NAMED, 'more', 'more')}` : '',
				)
			: null,
	);
}

const list = (facts) =>
	element('dl', {}, ...facts.flatMap(([label, value]) => [element('dt', {}, label), element('dd', {}, value)]));

// Return the facts of the first screen. What the file does not say, its events do.
function firstFacts({ facts, timeline }) {
	const known = new Set(facts.map(([label]) => label)),
		derived = [
			['lasted', `${duration(timeline.end_ns - timeline.start_ns)}, from the first event to the last`],
			['events', grouped(timeline.events)],
		].filter(([label]) => timeline.events && !known.has(label));
	return [...facts, ...derived]
		.filter(([label]) => FIRST.includes(label))
		.sort(([a], [b]) => FIRST.indexOf(a) - FIRST.indexOf(b));
}

export function summary(report, narrow, index) {
	const first = firstFacts(report),
		rest = report.facts.filter(([label]) => !FIRST.includes(label));
	return element(
		'div',
		{ class: 'summary' },
		element(
			'p',
			{ class: `verdict ${report.complete ? 'good' : report.is_report ? 'bad' : ''}` },
			`verdict: ${report.verdict}`,
		),
		element('div', { class: 'first' }, list(first), costs(report, index)),
		element('details', {}, element('summary', {}, 'about the recording'), list(rest)),
	);
}
