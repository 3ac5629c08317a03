// SPDX-License-Identifier: Apache-2.0
// The page of `trace report --html`: one report, or two side by side. All data is in the element #data; nothing is
// loaded.
import { verdict } from './comparison.js';
import { element, processTitle } from './dom.js';
import { FlameView } from './flame.js';
import { fact, summary, titleOf } from './summary.js';
import { comparison, findings, receipt, statistics } from './tables.js';
import { TimelineView } from './timeline.js';

const NARROW = 1100; // px; texts of tables come first where the end of a row may be out of view

const processNames = (report) =>
	new Map(report.timeline.names_of_processes.map(([process, pid, name]) => [process, processTitle(name, pid)]));

function section(id, title, reports, make, hint) {
	const columns = reports.map((report, index) => {
		const column = element('div', { class: 'column' });
		if (reports.length > 1) column.append(element('h3', {}, `${'AB'[index]}: ${fact(report, 'file')}`));
		column.append(make(report, reports.length > 1 || window.innerWidth < NARROW, index, reports));
		return column;
	});
	return element(
		'section',
		{ id, class: 'part' },
		element('h2', {}, title),
		hint || null,
		element('div', { class: `columns of${reports.length}` }, ...columns),
	);
}

function timelines(reports) {
	const views = [];
	const made = section('timeline', 'Timeline', reports, (report) => {
		if (!report.timeline.events && !report.timeline.lifetimes.length)
			return element('p', { class: 'hint' }, 'no events');
		const view = new TimelineView(report.timeline, report.api, report.ranges);
		views.push(view);
		return view.root;
	});
	if (views.length === 2) {
		const link = (event) => {
			views[0].linked = event.target.checked ? views[1] : null;
			views[1].linked = event.target.checked ? views[0] : null;
		};
		made.firstChild.append(
			element('label', { class: 'link' }, element('input', { type: 'checkbox', onchange: link }), 'move and zoom both'),
		);
	}
	return made;
}

// Return the sums of the critical path; its segments are tracks of the timeline.
function pathOf(report, narrow, index, reports) {
	if (!report.path.length) return element('p', { class: 'hint' }, 'no critical path: there are no recorded calls');
	const of = (each) => ({ ...each, tables: each.path });
	return statistics(of(report), narrow, index, reports.map(of));
}

function flames(report) {
	return report.flames.length
		? new FlameView([[report.flames, processNames(report)]]).root
		: element('p', { class: 'hint' }, 'no event has a callchain');
}

// Create one flame graph of both reports, with processes of the same name merged; below it, folded, that of each
// report.
function flameOfBoth(reports) {
	const names = (report) => new Map(report.timeline.names_of_processes.map(([process, , name]) => [process, name]));
	const made = section('flame', 'Flame graph', reports, (report) =>
		element('details', {}, element('summary', {}, 'this one alone'), flames(report)),
	);
	if (!reports.some((report) => report.flames.length)) return made;
	made.firstChild.after(
		element('p', { class: 'hint' }, 'both: red is more in B, blue less'),
		new FlameView(reports.map((report) => [report.flames, names(report)])).root,
	);
	return made;
}

function page(data) {
	const { reports } = data,
		names = reports.map(titleOf);
	document.title = `${names.join(' and ')} \u2013 libtrace`;
	const parts = [
		['summary', 'Summary'],
		['timeline', 'Timeline'],
		['tables', 'Tables'],
		['findings', 'Findings'],
		['flame', 'Flame graph'],
		['receipt', 'Receipt'],
	];
	if (reports.length === 2) parts.splice(2, 0, ['comparison', 'A against B']);
	if (data.comparison) parts.unshift(['verdict', 'Verdict']);
	if (reports.some((report) => report.path)) parts.splice(1, 0, ['path', 'Critical path']);
	const makers = {
		verdict: () => verdict(JSON.parse(data.comparison)),
		summary: () => section('summary', 'Summary', reports, summary),
		path: () => section('path', 'Critical path', reports, pathOf),
		timeline: () => timelines(reports),
		comparison: () =>
			element('section', { id: 'comparison', class: 'part' }, element('h2', {}, 'A against B'), comparison(...reports)),
		tables: () => section('tables', 'Where the time went', reports, statistics),
		findings: () => section('findings', 'Findings', reports, findings),
		flame: () => (reports.length === 2 ? flameOfBoth(reports) : section('flame', 'Flame graph', reports, flames)),
		receipt: () => section('receipt', 'Receipt', reports, receipt),
	};
	document
		.getElementById('page')
		.replaceChildren(
			element(
				'header',
				{},
				element('h1', {}, names.join(' \u2194 ')),
				element('nav', {}, ...parts.map(([id, title]) => element('a', { href: `#${id}` }, title))),
				element('small', {}, `libtrace ${data.version}`),
			),
			element('main', {}, ...parts.map(([id]) => makers[id]())),
		);
}

try {
	page(JSON.parse(document.getElementById('data').textContent));
	// Time of the first drawing, for measurements.
	requestAnimationFrame(() => {
		document.documentElement.dataset.drawn = String(Math.round(performance.now()));
	});
} catch (error) {
	document
		.getElementById('page')
		.replaceChildren(element('p', { class: 'wait' }, `This page cannot be shown: ${error.message}`));
	document.documentElement.dataset.failed = error.message;
}
