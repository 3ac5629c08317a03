// SPDX-License-Identifier: Apache-2.0
// Tables of statistics, findings and processes, and of the comparison of two reports.
import { element, grouped } from './dom.js';
import { tableId } from './summary.js';

const COLUMNS_FIT = 12, // in a table with more, texts come first, because its end may be out of view
	ROWS_FIRST = 12,
	LONG = 60; // letters of a name that gets a wide column

// Quantities of columns: the units that they are shown in, and the unit in which the data has them.
const QUANTITIES = {
	time: {
		units: [
			[1e9, 's'],
			[1e6, 'ms'],
			[1e3, 'us'],
			[1, 'ns'],
		],
		given: 1,
	},
	size: {
		units: [
			[1e9, 'GB'],
			[1e6, 'MB'],
			[1e3, 'kB'],
			[1, 'bytes'],
		],
		given: 1e6,
	},
};
const DIGITS = 3; // decimals of a number with a unit, and least significant digits of a column's least number
const MOMENT = /^(Start|End|Began|Queue Start)\b/; // times of day, so to say: their size says nothing
const SPREAD = /StdDev\b|\u2212/; // deviations and differences: they may be as small as they like

// Return the quantity of a column, and how many of its smallest unit a value is.
function quantityOf(column) {
	if (column.text) return null;
	if (column.ns || /\(ns\)$/.test(column.title)) return { name: 'time', times: 1 };
	if (column.bytes) return { name: 'size', times: 1 };
	return /\(MB\)$/.test(column.title) ? { name: 'size', times: QUANTITIES.size.given } : null;
}

// Choose the unit of all columns of a quantity in a table, so that they can be compared by eye: that of the number
// halfway, by digits, between the least and the greatest, but one in which the greatest has at most five digits.
function unitOf(name, columns, rows) {
	const of = columns.flatMap((column, at) => {
		const quantity = quantityOf(column);
		return quantity && quantity.name === name ? [[column, at, quantity.times]] : [];
	});
	const telling = of.filter(([column]) => !MOMENT.test(column.title) && !SPREAD.test(column.title));
	let least = Infinity,
		most = 0;
	for (const [, at, times] of telling.length ? telling : of)
		for (const row of rows) {
			const value = Math.abs(row[at] ?? 0) * times;
			if (!value) continue;
			least = Math.min(least, value);
			most = Math.max(most, value);
		}
	const { units } = QUANTITIES[name];
	const halfway = Math.sqrt(least * most);
	return units.find(([size]) => most && (halfway >= size || most >= 100 * size)) || units[units.length - 1];
}

// Return the columns with the unit in the title and with a function that formats a value. A table has one unit for
// its times and one for its sizes. A column has as many decimals as its least number needs to be readable.
// measured: rows by which the units are chosen; two tables beside each other have the rows of both, so the same units.
export function withUnits(columns, rows, measured = rows) {
	const units = new Map(Object.keys(QUANTITIES).map((name) => [name, unitOf(name, columns, measured)]));
	return columns.map((column, at) => {
		const quantity = quantityOf(column);
		if (!quantity) return column;
		const { units: all } = QUANTITIES[quantity.name],
			[size, unit] = units.get(quantity.name),
			scale = size / quantity.times,
			exact = Math.log10(size);
		let digits = Math.min(exact, DIGITS);
		const least = Math.min(...rows.map((row) => Math.abs(row[at] ?? 0) || Infinity)) / scale;
		const isFine = !MOMENT.test(column.title) && !SPREAD.test(column.title);
		while (isFine && digits < exact && least * 10 ** digits < 10 ** (DIGITS - 1)) digits++;
		return {
			...column,
			title: `${column.title.replace(/ \((ns|MB)\)$/, '')} (${unit})`,
			show: (value) => {
				const shown = size > 1 ? value / scale : Math.round((value / scale) * 10) / 10;
				return grouped(shown, size > 1 ? digits : undefined);
			},
			hint: (value) => (size > 1 ? `${grouped(Math.round(value * quantity.times * 10) / 10)} ${all[3][1]}` : null),
		};
	});
}

function cell(column, value) {
	if (value == null) return element('td', {}, '');
	if (column.text) {
		const text = String(value),
			size = text.length > LONG ? 'long' : text.length > LONG / 4 ? 'middling' : 'short';
		return element('td', { class: `text ${size}`, title: text }, text);
	}
	if (/(ID|Id|Pid|Tid|Descriptor)$/.test(column.title)) return element('td', { class: 'number' }, String(value));
	const digits = /\(MB\/s\)/.test(column.title) ? 3 : /%|^Avg|^Med|^StdDev/.test(column.title) ? 1 : undefined;
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

// Return which columns to show, in their order: not those without a value in any row, which would push others out of
// view.
const filled = (columns, rows) =>
	[...columns.keys()].filter((at) => !rows.length || rows.some((row) => row[at] != null && row[at] !== ''));

// Create a table that is sorted by a click on a heading. `total`: number of rows, of which `rows` may be only the
// first. `narrow`: put texts first, because the end of a row may be out of view. `measured`: as of withUnits().
export function table(all, allRows, total = allRows.length, narrow = false, allMeasured = allRows) {
	const kept = filled(all, allMeasured),
		picked = (row) => kept.map((at) => row[at]);
	if (narrow || kept.length > COLUMNS_FIT) kept.sort((a, b) => !!all[b].text - !!all[a].text || a - b);
	const rows = allRows.map(picked),
		columns = withUnits(picked(all), rows, allMeasured.map(picked));
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
	`numbers in names are replaced by # ('step 1' and 'step 2' become 'step #'), ` +
	`which merges ${grouped(names)} names into ${grouped(merged)}`;

// Return the rows of all tables of a name; columns of a report are the same in each.
const rowsOfAll = (reports, name) =>
	reports.flatMap((report) => report.tables.filter((each) => each.name === name).flatMap((each) => each.rows));

export function statistics(report, narrow, index, reports) {
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
				table(each.columns, each.rows, each.total, narrow, rowsOfAll(reports, each.name)),
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

// Return the names that both reports have, by the difference of their total times. A module counts without its folders,
// which differ where the programs were built or installed in two places.
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
				.map((text, index) => (columns[index].title === 'Module' ? text?.replace(/^.*\//, '') : text))
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
						{ title: `A: ${unit}` },
						{ title: `B: ${unit}` },
						{ title: `B \u2212 A${unit.match(/ \((ns|MB)\)$/)?.[0] ?? ''}` },
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
