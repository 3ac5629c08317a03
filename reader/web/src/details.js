// SPDX-License-Identifier: Apache-2.0
// Details of one event: a panel below the timeline that a click on the event fills. The page has the
// details of the longest events only (reader/cli/report/page_details.c).
import { bisector } from 'd3-array';
import { duration, element, grouped, moment, processTitle } from './dom.js';
import { STATES } from './states.js';

const WITHIN_MAX = 12; // events listed for a merged event
const NEXT_MAX = 64; // waits that are searched for the next owner of a lock
const PYTHON = /^py::(.*?):(.*)$/; // Python frame, as `python -X perf` names it
const PYTHON_LINE = /^(.*) \(([^()]*)\)$/; // Python frame, as the tracer names it: its module is its file

// The details of a timeline, indexed on first use, so that a page opens fast.
export class Details {
	constructor(data, model) {
		this.data = data;
		this.model = model;
		this.count = data ? data.events : 0;
	}

	index() {
		if (this.places) return;
		this.places = new Map(places(this.model));
		this.rows = new Map();
		this.launches = new Map();
		for (const { labels, rows } of this.data ? this.data.lists : []) {
			const correlation = labels.indexOf('#correlation');
			for (const values of rows) {
				const record = { labels, values, start: values[2], end: values[3] },
					place = this.places.get(values[0]);
				if (!place) continue;
				add(this.rows, `${values[0]}/${values[1]}`, record);
				if (correlation > 0 && values[correlation])
					add(this.launches, `${place.process.process}/${values[correlation]}`, record);
			}
		}
		for (const records of this.rows.values()) records.sort((a, b) => a.start - b.start);
		this.chains = new Map(
			(this.data ? this.data.chains : []).map(([source, chain, ...ids]) => [`${source}/${chain}`, ids]),
		);
		this.frames = new Map((this.data ? this.data.frames : []).map(([id, ...texts]) => [id, texts]));
	}

	// Return the record of an event, or undefined.
	of(hit) {
		this.index();
		const records = this.rows.get(`${hit.track.id}/${hit.row}`) || [],
			end = hit.start + hit.length;
		for (let i = bisect(records, hit.start); i < records.length && records[i].start === hit.start; i++)
			if (records[i].end === end) return records[i];
		return undefined;
	}

	// Return the records of the longest events that are merged into this one.
	within(hit) {
		this.index();
		return (this.rows.get(`${hit.track.id}/${hit.row}`) || [])
			.filter((each) => each.start >= hit.start && each.end <= hit.start + hit.length)
			.sort((a, b) => b.end - b.start - (a.end - a.start))
			.slice(0, WITHIN_MAX);
	}

	// Return the event of a record, in the form in which the timeline has the event under the pointer.
	hit(record) {
		const [track, row, start, end, name] = record.values;
		return {
			...this.places.get(track),
			row,
			id: name,
			start,
			length: end - start,
			count: 1,
			taken: end - start,
			busy: 0,
			name: this.model.name(name),
		};
	}

	// Return the records of the calls and operations with the same correlation id.
	launch(hit) {
		const record = this.of(hit),
			id = record && value(record, '#correlation'),
			all = (id && this.launches.get(`${hit.process.process}/${id}`)) || [];
		const of = (what) => all.filter((each) => this.places.get(each.values[0]).track.what === what);
		return { calls: of('api'), operations: of('gpu') };
	}

	// Return who released the lock for which a call waited: { tid, record }, as far as the report knows. That is the
	// thread that held it when the wait began (no record), or the last thread that got it during the wait; null if the
	// report does not know the holder.
	releaser(hit) {
		const record = this.of(hit),
			tid = record && value(record, '#holder');
		if (!tid) return null;
		const waiters = this.waiters(hit, record),
			last = waiters[waiters.indexOf(record) - 1];
		return last && last.end > hit.start ? { tid: this.places.get(last.values[0]).track.tid, record: last } : { tid };
	}

	// Return the record of the call that got a lock from this one: the next that waited while its thread held it.
	successor(hit) {
		const record = this.of(hit);
		if (!record) return null;
		const waiters = this.waiters(hit, record),
			at = waiters.indexOf(record);
		if (at < 0) return null;
		return waiters.slice(at + 1, at + 1 + NEXT_MAX).find((each) => this.releaser(this.hit(each)).tid === hit.track.tid);
	}

	// Return the records of calls that waited for the lock of a record, in the order in which they got it.
	waiters(hit, record) {
		const object = value(record, '#object');
		if (!object) return [];
		if (!this.locks) {
			this.locks = new Map();
			for (const records of this.rows.values())
				for (const each of records)
					if (value(each, '#holder'))
						add(this.locks, `${this.places.get(each.values[0]).process.process}/${value(each, '#object')}`, each);
			for (const records of this.locks.values()) records.sort((a, b) => a.end - b.end);
		}
		return this.locks.get(`${hit.process.process}/${object}`) || [];
	}

	// Return the arrows of an event: [from, to], each { ns, process, track, row }.
	arrows(hit) {
		if (hit.count > 1 || !hit.name) return [];
		const { calls, operations } = this.launch(hit),
			found = [],
			arrow = (from, to, ns) =>
				found.push([
					{ ...from, ns: ns ?? from.start },
					{ ...to, ns: ns ?? to.start },
				]);
		if (hit.track.what === 'api') operations.forEach((each) => arrow(hit, this.hit(each)));
		if (hit.track.what === 'gpu') calls.slice(0, 1).forEach((each) => arrow(this.hit(each), hit));
		const released = this.releaser(hit),
			next = this.successor(hit);
		if (released) {
			const track = trackOf(hit.process, released.tid);
			if (track) arrow({ process: hit.process, track, row: 0 }, hit, hit.start + hit.length);
		}
		if (next) arrow(hit, this.hit(next), next.end);
		const { before, after } = this.pathNeighbors(hit);
		if (before && before.track !== hit.track) arrow(before, hit, hit.start);
		if (after && after.track !== hit.track) arrow(hit, after, after.start);
		return found;
	}

	// Return the segments of the critical path right before and after one.
	pathNeighbors(hit) {
		const found = { before: null, after: null };
		if (hit.track.what !== 'path' || hit.count > 1) return found;
		this.index();
		for (const { process, track } of this.places.values()) {
			if (track.what !== 'path') continue;
			for (let row = 0; row < track.rows; row++) this.pathRow(hit, found, { process, track, row });
		}
		return found;
	}

	pathRow(hit, found, place) {
		const { model } = this,
			events = model.rowOf(model.levels[0], place.track.id, place.row),
			end = hit.start + hit.length;
		for (let i = events ? model.first(events, hit.start) : 0; events && i < events.start.length; i++) {
			if (events.start[i] > end) break;
			const isBefore = events.start[i] < hit.start && events.start[i] + events.length[i] === hit.start;
			if (isBefore) found.before = model.event(events, i, place);
			if (events.start[i] === end) found.after = model.event(events, i, place);
		}
	}

	// Return the texts of a callchain, the innermost frame first; null if the event has none.
	chain(record) {
		const [source, chain] = [value(record, '#chain'), value(record, '#cuda chain'), value(record, '#sample chain')]
			.map((id, number) => [number, id])
			.find(([, id]) => id) || [0, 0];
		if (!chain) return null;
		return (this.chains.get(`${source}/${chain}`) || []).map(
			(id) => this.frames.get(id) || ['(another function)', '', ''],
		);
	}
}

// Return the track with the calls of a thread.
function trackOf(process, tid) {
	const own = process.tracks.filter((track) => track.tid === tid);
	return own.find((track) => track.lifetime) || own[0];
}

const bisect = bisector((record) => record.start).left;

function add(map, key, record) {
	if (map.has(key)) map.get(key).push(record);
	else map.set(key, [record]);
}

function* places(model) {
	for (const process of model.processes) for (const track of process.tracks) yield [track.id, { process, track }];
}

export function value(record, label) {
	const at = record.labels.indexOf(label);
	return at < 0 ? null : record.values[at];
}

function frame([symbol, module, line]) {
	const python = symbol.match(module && line.startsWith(`${module}:`) ? PYTHON_LINE : PYTHON);
	if (python) return element('li', { title: line }, python[1], element('small', {}, ` Python, ${python[2]}`));
	return element(
		'li',
		{},
		symbol,
		element('small', {}, ` ${[module.replace(/.*\//, ''), line].filter(Boolean).join(', ')}`),
	);
}

// Return the panel of an event. `view` is the timeline, which shows what a link names.
export function panel(view, hit) {
	const { details } = view.model,
		record = hit.count > 1 ? null : details.of(hit),
		rows = [];
	const row = (label, ...content) => rows.push(element('dt', {}, label), element('dd', {}, ...content));
	const link = (other, text) =>
		element('button', { class: 'jump', onclick: () => view.goTo(details.hit(other)) }, text);
	const text = (other) => {
		const found = details.hit(other);
		return `${found.name.text}, ${found.track.title}, ${duration(found.length)}`;
	};

	if (hit.name.detail) row(STATES.has(hit.name.kind) ? 'how' : 'what', hit.name.detail);
	row('began', moment(hit.start, Math.max(1, hit.length)));
	row('ended', moment(hit.start + hit.length, Math.max(1, hit.length)));
	row('lasted', duration(hit.length));
	row('where', `${hit.track.title}, ${processTitle(hit.process.name, hit.process.pid)}`);
	for (const [at, label] of record ? record.labels.entries() : [])
		if (at > 4 && label[0] !== '#' && record.values[at] != null && record.values[at] !== '')
			row(label, String(record.values[at]));

	const { calls, operations } = record ? details.launch(hit) : { calls: [], operations: [] };
	const call = hit.track.what === 'gpu' ? calls[0] : null;
	if (call) {
		row('launched by', link(call, text(call)));
		row('began after the call', duration(hit.start - call.start));
	}
	if (hit.track.what === 'api')
		for (const operation of operations.slice(0, WITHIN_MAX))
			row('on the GPU', link(operation, text(operation)), ` after ${duration(operation.start - hit.start)}`);
	if (hit.name.kind === 'lock' && record) {
		const released = details.releaser(hit),
			next = details.successor(hit);
		const how = !released
			? ['not known: the report has no holder of this lock']
			: released.record
				? [`thread ${released.tid}, which got it during the wait: `, link(released.record, text(released.record))]
				: [`thread ${released.tid}, which held it when the wait began`];
		row('released by', ...how);
		if (next) row('released to', link(next, text(next)));
	}
	const path = view.model.nvtxPath(call ? details.hit(call) : hit);
	if (path.length) row('NVTX', path.join(' \u203a '));

	const { before, after } = details.pathNeighbors(hit);
	for (const [label, each] of [
		['the path comes from', before],
		['and goes on with', after],
	])
		if (each)
			row(
				label,
				element('button', { class: 'jump', onclick: () => view.goTo(each) }, `${each.name.text}, ${each.track.title}`),
			);

	const chain = record && details.chain(call || record);
	return element(
		'div',
		{ class: 'details', role: 'region', 'aria-label': 'selected event' },
		element('h3', {}, hit.count > 1 ? `${grouped(hit.count)} events, the longest: ${hit.name.text}` : hit.name.text),
		element('dl', {}, ...rows),
		hit.count > 1 ? several(details.within(hit), link, text) : null,
		chain && chain.length
			? element(
					'div',
					{},
					element('h4', {}, 'callchain, the innermost function first'),
					element('ol', {}, ...chain.map(frame)),
				)
			: null,
		record || hit.count > 1 || STATES.has(hit.name.kind)
			? null
			: element(
					'p',
					{ class: 'hint' },
					`This page has the details of the longest ${grouped(details.count)} events; trace query has them all.`,
				),
	);
}

function several(records, link, text) {
	return records.length
		? element(
				'div',
				{},
				element('h4', {}, 'the longest of them'),
				element('ul', {}, ...records.map((each) => element('li', {}, link(each, text(each))))),
			)
		: element('p', { class: 'hint' }, 'Zoom in for each of them.');
}
