// SPDX-License-Identifier: Apache-2.0
// Sums of the events in an area of the timeline, or in everything in view.
import { counted, duration, element, grouped, moment } from './dom.js';
import { OVERLAYS } from './states.js';
import { table } from './tables.js';

const ROWS_MAX = 200;

// Sum up the events of tracks between two times. Only the part of an event that is inside the area counts. A merged
// event is in the totals but not in the table of names, because it has only the name of its longest event.
export function sums(model, tracks, rowsOf, from, to) {
	const names = new Map(),
		sum = { events: 0, taken: 0, busy: 0, unnamed: 0, unnamedTaken: 0 };
	const add = (event) => {
		const inside = Math.min(to, event.start + event.length) - Math.max(from, event.start);
		if (inside < 0) return;
		const share = event.length ? inside / event.length : 1,
			taken = event.taken * share;
		sum.events += event.count;
		if (!OVERLAYS.has(event.name.kind)) {
			sum.taken += taken;
			sum.busy += event.busy * share;
		}
		if (event.count > 1) {
			sum.unnamed += event.count;
			sum.unnamedTaken += taken;
			return;
		}
		const key = `${event.name.kind}/${event.name.text}`,
			known = names.get(key) || [event.name.text, model.kinds[event.name.kind], 0, 0];
		known[2]++;
		known[3] += taken;
		names.set(key, known);
	};
	for (const track of tracks) {
		for (let row = 0; row < track.rows; row++) {
			const events = rowsOf(track, row);
			for (
				let i = events ? model.first(events, from) : 0;
				events && i < events.start.length && events.start[i] <= to;
				i++
			)
				add(model.event(events, i));
		}
	}
	return { ...sum, names: [...names.values()].sort((a, b) => b[3] - a[3]) };
}

export function areaPanel(model, tracks, rowsOf, from, to) {
	const sum = sums(model, tracks, rowsOf, from, to);
	const fact = (label, value) => [element('dt', {}, label), element('dd', {}, value)];
	const columns = [
		{ title: 'Name', text: true },
		{ title: 'Kind', text: true },
		{ title: 'Events' },
		{ title: 'Time', ns: true },
	];
	return element(
		'div',
		{ class: 'details', role: 'region', 'aria-label': 'sums of an area' },
		element('h3', {}, `${duration(to - from)} from ${moment(from, to - from)}, ${counted(tracks.length, 'track')}`),
		element(
			'dl',
			{},
			...fact('events', grouped(sum.events)),
			...fact('time in calls and on GPUs', duration(sum.taken)),
			...fact('of it without waits', duration(sum.busy)),
			...fact('waits, or may wait', duration(sum.taken - sum.busy)),
		),
		sum.names.length ? table(columns, sum.names.slice(0, ROWS_MAX), sum.names.length, false) : null,
		sum.unnamed
			? element(
					'p',
					{ class: 'hint' },
					`${grouped(sum.unnamed)} events (${duration(sum.unnamedTaken)}), merged with others, are in the sums only.`,
				)
			: null,
	);
}
