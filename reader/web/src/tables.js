// SPDX-License-Identifier: Apache-2.0
// Tables of statistics, findings and processes, and of the comparison of two reports.
import { element, grouped } from './dom.js';
import { tableId } from './summary.js';

const ROWS_FIRST = 12;

// Units of times. A column has one unit, so that its numbers can be compared by eye: that of its greatest value, or of
// the median where rows of a single call are as frequent as others.
const UNITS = [
	[1e9, 's'],
	[1e6, 'ms'],
	[1e3, 'us'],
	[1, 'ns'],
];

const isTime = (column) => !column.text && (column.ns || /\(ns\)$/.test(column.title));
// Columns of one group share a unit: what one call takes, both sides of a comparison.
const groupOf = (column) => column.group || (/^(Avg|Med|Min|Max|StdDev)\b/.test(column.title) ? 'each' : column.title);

// Return the columns with the unit in the title and with a function that formats a value.
export function withUnits(columns, rows) {
	const values = new Map();
	columns.forEach((column, at) => {
		if (!isTime(column)) return;
		const held = values.get(groupOf(column)) || [];
		for (const row of rows) if (row[at]) held.push(Math.abs(row[at]));
		values.set(groupOf(column), held);
	});
	return columns.map((column) => {
		if (!isTime(column)) return column;
		const held = values.get(groupOf(column)).sort((a, b) => a - b),
			typical = held[groupOf(column) === 'each' ? held.length >> 1 : held.length - 1] || 0,
			[scale, unit] = UNITS.find(([size]) => typical >= size) || UNITS[3];
		return {
			...column,
			title: `${column.title.replace(/ \(ns\)$/, '')} (${unit})`,
			show: (ns) => grouped(ns / scale, scale > 1 ? 3 : Number.isInteger(ns) ? 0 : 1),
			hint: (ns) => (scale > 1 ? `${grouped(ns)} ns` : null),
		};
	});
}

function cell(column, value) {
	if (value == null) return element('td', {}, '');
	if (column.text) return element('td', { class: 'text', title: String(value) }, String(value));
	if (/(ID|Id|Pid|Tid|Descriptor)$/.test(column.title)) return element('td', { class: 'number' }, String(value));
	const digits = /\(MB/.test(column.title) ? 3 : /%|^Avg|^Med|^StdDev/.test(column.title) ? 1 : undefined;
	const made = element(
		'td',
		{ class: 'number', title: column.hint?.(value) },
		column.show ? column.show(value) : grouped(value, digits),
	);
	if (column.title === 'Time (%)') {
		made.classList.add('share');
		made.style.backgroundSize = `${Math.max(0, Math.min(100, value))}% 100%`;
	}
	return made;
}

// Create a table that is sorted by a click on a heading. `total`: number of rows, of which `rows` may be only the
// first. `narrow`: put texts first, because the end of a row may be out of view.
export function table(given, rows, total = rows.length, narrow = false) {
	const columns = withUnits(given, rows);
	if (narrow) {
		const order = [...columns.keys()].sort((a, b) => !!columns[b].text - !!columns[a].text || a - b);
		return table(
			order.map((at) => given[at]),
			rows.map((row) => order.map((at) => row[at])),
			total,
		);
	}
	let shown = ROWS_FIRST,
		by = -1,
		down = true,
		order = rows;
	const head = element(
		'tr',
		{},
		...columns.map((column, index) =>
			element(
				'th',
				{
					class: column.text ? 'text' : 'number',
					tabindex: '0',
					onclick: () => sort(index),
					onkeydown: (event) => event.key === 'Enter' && sort(index),
				},
				column.title,
			),
		),
	);
	const body = element('tbody'),
		more = element('button', { class: 'more', onclick: () => fill((shown = Infinity)) });
	function sort(index) {
		down = by === index ? !down : !columns[index].text;
		by = index;
		const least = (value) => value ?? (columns[index].text ? '' : -Infinity);
		order = [...rows].sort(
			(a, b) => (least(a[index]) < least(b[index]) ? -1 : least(a[index]) > least(b[index]) ? 1 : 0) * (down ? -1 : 1),
		);
		[...head.children].forEach((each, at) =>
			each.setAttribute('aria-sort', at !== by ? 'none' : down ? 'descending' : 'ascending'),
		);
		fill();
	}
	function fill() {
		body.replaceChildren(
			...order
				.slice(0, shown)
				.map((row) => element('tr', {}, ...columns.map((column, index) => cell(column, row[index])))),
		);
		more.hidden = order.length <= shown;
		more.textContent = `all ${grouped(order.length)} rows`;
	}
	fill();
	return element(
		'div',
		{ class: 'table' },
		element('div', { class: 'wide' }, element('table', {}, element('thead', {}, head), body)),
		more,
		total > rows.length
			? element('p', { class: 'hint' }, `the first ${grouped(rows.length)} of ${grouped(total)} rows are in this page`)
			: null,
	);
}

const mergedText = (names, merged) =>
	`numbers in names are merged ('step 1' and 'step 2' are 'step #'), ` +
	`so ${grouped(names)} names are ${grouped(merged)}`;

export function statistics(report, narrow, index) {
	if (!report.tables.length) return element('p', { class: 'hint' }, 'no statistics: there are no events');
	return element(
		'div',
		{},
		...report.tables.map((each, at) =>
			element(
				'details',
				{ id: tableId(index, each.name), open: at < 4 },
				element('summary', {}, each.title, element('small', {}, ` ${each.name}`)),
				each.merged && element('p', { class: 'hint' }, mergedText(...each.merged)),
				table(each.columns, each.rows, each.total, narrow),
			),
		),
	);
}

export function findings(report, narrow) {
	if (!report.findings.length) return element('p', { class: 'hint' }, 'the rules of trace analyze found nothing');
	const order = { error: 0, warning: 1, info: 2 };
	return element(
		'div',
		{},
		...[...report.findings]
			.sort((a, b) => (order[a.severity] ?? 3) - (order[b.severity] ?? 3))
			.map((each) =>
				element(
					'details',
					{ class: `finding ${each.severity}`, open: each.severity !== 'info' },
					element('summary', {}, element('span', { class: 'badge' }, each.severity), ` ${each.title}`),
					element('p', {}, each.advice),
					table(each.columns, each.rows, each.total, narrow),
				),
			),
	);
}

const PROCESS_COLUMNS = [
	{ title: 'PID', show: String },
	{ title: 'Parent', show: String },
	{ title: 'Command', text: true },
	{ title: 'Began', ns: true },
	{ title: 'Lasted', ns: true },
	{ title: 'End', text: true },
	{ title: 'Produced' },
	{ title: 'Written' },
	{ title: 'Summed up' },
	{ title: 'Dropped' },
	{ title: "Tracer's own time", ns: true },
	{ title: 'Traced', text: true },
];

export function receipt(report) {
	const rows = report.processes.map(
		([
			pid,
			parent,
			command,
			start,
			end,
			how,
			status,
			traced,
			reason,
			produced,
			written,
			summarized,
			dropped,
			tracer,
		]) => [
			pid,
			parent,
			command,
			start,
			end > start ? end - start : null,
			how === 'exit' ? `exit ${status ?? ''}` : how || 'not known',
			produced,
			written,
			summarized,
			dropped,
			tracer,
			traced === 'yes' ? 'yes' : `${traced || '?'}${reason ? `: ${reason}` : ''}`,
		],
	);
	return element(
		'div',
		{},
		rows.length
			? table(PROCESS_COLUMNS, rows, report.process_count)
			: element('p', { class: 'hint' }, 'no receipt in this database'),
		report.notes.length
			? element(
					'details',
					{},
					element('summary', {}, `diagnostics of the tracer (${grouped(report.notes.length + report.notes_left_out)})`),
					element(
						'ul',
						{},
						...report.notes.map((note) => element('li', {}, note)),
						report.notes_left_out ? element('li', {}, `and ${grouped(report.notes_left_out)} more`) : null,
					),
				)
			: null,
	);
}

// Return the names that both reports have, by the difference of their total times.
export function comparison(a, b) {
	const parts = [];
	for (const one of a.tables) {
		const other = b.tables.find((each) => each.name === one.name),
			total = one.columns.findIndex((column) => /^Total/.test(column.title));
		if (!other || total < 0 || total >= other.columns.length) continue;
		const merged = one.merged || other.merged;
		const key = (columns, row) => {
			const name = columns
				.map((column, index) => (column.text ? row[index] : null))
				.filter((text) => text != null)
				.join(' ');
			return merged ? name.replace(/[0-9]+/g, '#') : name;
		};
		const unit = one.columns[total].title,
			rows = new Map();
		[one, other].forEach((side, at) =>
			side.rows.forEach((row) => {
				const name = key(side.columns, row),
					sums = rows.get(name) || [null, null];
				sums[at] = (sums[at] ?? 0) + row[total];
				rows.set(name, sums);
			}),
		);
		const lines = [...rows]
			.map(([name, [x, y]]) => [x, y, (y ?? 0) - (x ?? 0), x && y != null ? y / x : null, name])
			.sort((p, q) => Math.abs(q[2]) - Math.abs(p[2]));
		const ratio = (value) => value.toFixed(2);
		parts.push(
			element(
				'details',
				{ open: parts.length < 2 },
				element('summary', {}, one.title),
				table(
					[
						{ title: `A: ${unit}`, group: 'total' },
						{ title: `B: ${unit}`, group: 'total' },
						{ title: /\(ns\)$/.test(unit) ? 'B \u2212 A (ns)' : 'B \u2212 A', group: 'total' },
						{ title: 'B / A', show: ratio },
						{ title: 'Name', text: true },
					],
					lines,
				),
			),
		);
	}
	return element('div', {}, ...(parts.length ? parts : [element('p', { class: 'hint' }, 'no table in both reports')]));
}
