// SPDX-License-Identifier: Apache-2.0
// The first screen: what ran, how it ended, the verdict, and the largest costs with links to their tables.
import { counted, duration, element } from './dom.js';

// What everybody asks first; all other facts are folded.
const FIRST = ['command', 'ended', 'lasted', 'GPU', 'host', 'began', 'system', 'version'];
// Tables whose rows are times of their own. Ranges come last: they contain the others.
const COSTS = [
	'osrt_sum',
	'cuda_api_sum',
	'cuda_gpu_kern_sum',
	'cuda_gpu_mem_time_sum',
	'openmp_sum',
	'mpi_event_sum',
	'openacc_sum',
	'syscall_sum',
];
const COSTS_SHOWN = 3;

export function fact(report, label) {
	const found = report.facts.find(([name]) => name === label);
	return found ? found[1] : '';
}

// Return the name of a file without folders, and the program that ran, where it is known.
export function titleOf(report) {
	const base = (path) => path.replace(/.*\//, ''),
		program = base(fact(report, 'command').split(' ')[0]);
	return base(fact(report, 'file')) + (program ? ` (${program})` : '');
}

export const tableId = (index, name) => `table-${index}-${name}`;

// Return the rows with the greatest total times, with at most one wait among them: threads that wait for work would
// otherwise come before all work.
export function largestCosts(report) {
	const kinds = new Map(report.timeline.names.map(([, kind, text]) => [text, kind])),
		found = [];
	const add = (table) => {
		const total = table.columns.findIndex((column) => /^Total Time/.test(column.title)),
			count = table.columns.findIndex((column) => /^(Num Calls|Instances|Count)/.test(column.title)),
			name = table.columns.map((column) => column.text).lastIndexOf(true);
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
	found.sort((a, b) => b.ns - a.ns);
	const longestWait = found.find((cost) => cost.waits);
	return found.filter((cost) => cost.ns > 0 && (!cost.waits || cost === longestWait)).slice(0, COSTS_SHOWN);
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
	const largest = largestCosts(report);
	if (!largest.length) return null;
	return element(
		'div',
		{ class: 'costs' },
		element('h3', {}, 'Largest costs'),
		element(
			'ol',
			{},
			...largest.map((cost) => {
				const id = tableId(index, cost.table.name);
				return element(
					'li',
					{},
					element('a', { href: `#${id}`, title: cost.name, onclick: () => show(id, cost.name) }, cost.name),
					element(
						'small',
						{},
						` ${duration(cost.ns)}${cost.count == null ? '' : ` in ${counted(cost.count, 'call')}`}` +
							`${cost.waits ? ', waiting' : ''} \u00b7 ${cost.table.title}`,
					),
				);
			}),
		),
	);
}

const list = (facts) =>
	element('dl', {}, ...facts.flatMap(([label, value]) => [element('dt', {}, label), element('dd', {}, value)]));

export function summary(report, narrow, index) {
	const first = report.facts.filter(([label]) => FIRST.includes(label)),
		rest = report.facts.filter(([label]) => !FIRST.includes(label));
	return element(
		'div',
		{ class: 'summary' },
		element('p', { class: `verdict ${report.complete ? 'good' : report.is_report ? 'bad' : ''}` }, report.verdict),
		element('div', { class: 'first' }, list(first), costs(report, index)),
		element('details', {}, element('summary', {}, 'about the recording'), list(rest)),
	);
}
