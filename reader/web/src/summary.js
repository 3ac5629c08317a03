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
// Tables whose rows are times of their own. Ranges come last: they contain the others.
const COSTS = [
	'cpu_by_function',
	'osrt_sum',
	'cuda_api_sum',
	'cuda_gpu_kern_sum',
	'cuda_gpu_mem_time_sum',
	'openmp_sum',
	'mpi_event_sum',
	'openacc_sum',
	'syscall_sum',
];
const NOUNS = {
	nvtx_sum: ['range'],
	cpu_by_function: ['sample'],
	cuda_gpu_kern_sum: ['launch', 'launches'],
	cuda_gpu_mem_time_sum: ['operation'],
};
// Rows of OpenMP that are lifetimes, not costs.
const LIFETIME = /^(Implicit )?Task$|Thread$/;
const COSTS_SHOWN = 3,
	WAITS_NAMED = 3;

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

// Return the rows with the greatest total times, with at most one wait among them: threads that wait for work would
// otherwise come before all work. `leftOut`: waits that are larger than a cost that is shown.
export function largestCosts(report) {
	const kinds = new Map(
		report.timeline.names.filter(([, kind]) => kind !== 'sample').map(([, kind, text]) => [text, kind]),
	);
	let found = [];
	const add = (table) => {
		const total = table.columns.findIndex((column) => /^(Total Time|Self CPU Time)/.test(column.title)),
			count = table.columns.findIndex((column) => /^(Num Calls|Instances|Count|Self Samples)/.test(column.title)),
			named = table.columns.findIndex((column) => column.title === 'Name'),
			name = named < 0 ? table.columns.map((column) => column.text).lastIndexOf(true) : named;
		if (total < 0 || name < 0) return;
		for (const row of table.rows)
			found.push({
				table,
				ns: row[total] || 0,
				name: String(row[name]),
				count: count < 0 ? null : row[count],
				waits: table.name === 'osrt_sum' && kinds.get(row[name]) === 'wait',
			});
	};
	report.tables.filter((table) => COSTS.includes(table.name)).forEach(add);
	if (!found.length) report.tables.filter((table) => table.name === 'nvtx_sum').forEach(add);
	// Samples say what computed, so a call that may have waited is none of it.
	const sampled = found.some((cost) => cost.table.name === 'cpu_by_function' && cost.ns > 0);
	found = found.filter(
		(cost) =>
			!(cost.table.name === 'openmp_sum' && LIFETIME.test(cost.name)) &&
			!(sampled && cost.table.name === 'osrt_sum' && !cost.waits),
	);
	found.sort((a, b) => b.ns - a.ns);
	const longestWait = found.find((cost) => cost.waits),
		shown = found.filter((cost) => cost.ns > 0 && (!cost.waits || cost === longestWait)).slice(0, COSTS_SHOWN),
		least = shown.length < COSTS_SHOWN ? 0 : shown[COSTS_SHOWN - 1].ns;
	return { shown, leftOut: found.filter((cost) => cost.waits && cost !== longestWait && cost.ns > least) };
}

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
	const { shown, leftOut } = largestCosts(report);
	if (!shown.length) return null;
	const link = (cost) => {
		const id = tableId(index, cost.table.name);
		return element('a', { href: `#${id}`, title: cost.name, onclick: () => show(id, cost.name) }, cost.name);
	};
	const many = (cost) =>
		cost.count == null ? '' : ` in ${counted(cost.count, ...(NOUNS[cost.table.name] || ['call']))}`;
	const about = (cost) =>
		` ${duration(cost.ns)}${many(cost)}${cost.waits ? ', waiting' : ''} \u00b7 ${cost.table.title}`;
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
