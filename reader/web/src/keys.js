// SPDX-License-Identifier: Apache-2.0
// The timeline by keyboard: the arrow keys move a cursor over tracks and events; screen readers get a description.
import { counted, duration, moment } from './dom.js';
import { STATES } from './states.js';

export const KEYS =
	'keys: \u2191 \u2193 tracks \u00b7 \u2190 \u2192 events, or fold \u00b7 enter: zoom, or open \u00b7 ' +
	'w, s: zoom \u00b7 a, d: sideways \u00b7 0: all \u00b7 /: find \u00b7 escape: deselect';

const PAN = 0.15,
	ZOOM = 1.4;

// Return the line of the cursor; the first line if there is no cursor.
export function cursorLine(view) {
	const { cursor, lines } = view;
	return (cursor && lines.find((line) => line.process === cursor.process && line.track === cursor.track)) || lines[0];
}

// Describe a line for screen readers.
function spoken(view, { process, track }) {
	if (!track)
		return `${view.titleOf(process)}, ${process.open ? 'open' : 'closed'}${process.folded ? ', folded' : ''}, ${counted(
			process.tracks.length,
			'track',
		)}${process.children.length ? `, ${counted(process.children.length, 'child process', 'child processes')}` : ''}`;
	const inView = view.countInView(track);
	return `${track.title}, ${counted(inView, 'event')} in view`;
}

function moveTrack(view, step) {
	const at = view.lines.indexOf(cursorLine(view)),
		line = view.lines[Math.max(0, Math.min(view.lines.length - 1, view.cursor ? at + step : at))];
	view.cursor = { process: line.process, track: line.track };
	view.reveal(line);
	view.say(spoken(view, line));
}

// Select the next event of the track, or the first one in view.
function moveEvent(view, line, step) {
	const { selected } = view,
		from = selected && selected.track === line.track ? selected : null;
	let best = null;
	for (let row = 0; row < line.track.rows; row++) {
		const found = view.neighbor(line, row, from, step);
		if (found && (!best || (found.start - best.start) * step < 0)) best = found;
	}
	if (!best) {
		view.say(step > 0 ? 'no later event' : 'no earlier event');
		return;
	}
	view.select(best);
	const [start, end] = view.domain;
	if (best.start > end || best.start + best.length < start)
		view.show(best.start - (end - start) / 2, best.start + (end - start) / 2);
	const detail = STATES.has(best.name.kind) && best.name.detail ? ` ${best.name.detail}` : '';
	view.say(`${best.name.text}${detail}, ${duration(best.length)}, at ${moment(best.start, Math.max(1, best.length))}`);
}

function sideways(view, step) {
	const line = cursorLine(view);
	if (line.track) {
		moveEvent(view, line, step);
		return;
	}
	line.process.folded = step < 0 && line.process.children.length > 0;
	view.layout();
	view.say(spoken(view, line));
}

function enter(view) {
	const line = cursorLine(view);
	if (line.track && view.selected) {
		view.zoomTo(view.selected);
		return;
	}
	if (line.track) return;
	line.process.open = !line.process.open;
	view.layout();
	view.say(spoken(view, line));
}

// Handle a key on the timeline. Returns true if the key has a function.
export function key(view, event) {
	if (event.ctrlKey || event.metaKey || event.altKey || !view.lines.length) return false;
	const act = {
		ArrowDown: () => moveTrack(view, 1),
		ArrowUp: () => moveTrack(view, -1),
		ArrowRight: () => sideways(view, 1),
		ArrowLeft: () => sideways(view, -1),
		Enter: () => enter(view),
		Escape: () => view.select(null),
		w: () => view.zoomBy(ZOOM),
		s: () => view.zoomBy(1 / ZOOM),
		a: () => view.pan(-PAN),
		d: () => view.pan(PAN),
		0: () => view.show(view.model.start, view.model.end),
		'/': () => view.input.focus(),
	}[event.key];
	if (!act) return false;
	act();
	view.drawSoon();
	return true;
}
