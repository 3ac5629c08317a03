// SPDX-License-Identifier: Apache-2.0
// The timeline: a canvas with the visible part, panned and zoomed by d3-zoom, below a time axis and an overview of
// the whole session.
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { zoom, zoomIdentity } from 'd3-zoom';
import { areaPanel } from './area.js';
import { panel } from './details.js';
import {
	color,
	counted,
	duration,
	element,
	fit,
	fitted,
	grouped,
	hatch,
	moment,
	processTitle,
	tipHide,
	tipShow,
} from './dom.js';
import { cursorLine, key, KEYS } from './keys.js';
import { Timeline, colorOf, colorOfKind, KINDS } from './model.js';
import { isBusy, STATES, WAITING, WAITS } from './states.js';

const GUTTER_LEAST = 150, // width of the titles
	ROW = 17,
	GAP = 5,
	HEAD = 22,
	AXIS = 24,
	OVERVIEW = 44,
	LETTER = 6.1,
	FONT = '11px system-ui, sans-serif',
	BOLD = 1.15, // width of bold letters, at most
	FOLD = 16; // width of the mark that folds the children of a process
const UNFOLDED_PROCESSES = 20; // with more processes, only the first and its children are unfolded at the start
const OPEN_TRACKS = 60; // with more tracks, only the first processes are open at the start
const CLOSED_TRACKS = 64; // maximum number of tracks shown in the head of a closed process
const FOUND_MAX = 20000;
const ARROW = 9; // length of an arrow's head
const ARRANGE_MS = 150; // after the last movement, tracks without events in view are hidden

export class TimelineView {
	constructor(data, api, ranges) {
		this.model = new Timeline(data, api, ranges);
		this.domain = [this.model.start, this.model.end];
		this.found = { ids: null, found: [], at: -1 }; // `ids` is null if nothing was searched or found
		this.linked = null;
		this.processesOpen();
		this.gutter = GUTTER_LEAST;
		this.arrows = []; // of the selected event
		this.root = element('section', { class: 'timeline' });
		const { model } = this;
		this.canvas = element('canvas', {
			tabindex: '0',
			role: 'application',
			'aria-roledescription': 'timeline',
			'aria-label':
				`${counted(model.processes.length, 'process', 'processes')}, ${counted(model.events, 'event')} with a track, ` +
				`${duration(model.end - model.start)}; ${KEYS}`,
		});
		this.axis = element('canvas', { class: 'axis', 'aria-hidden': 'true' });
		this.overview = element('canvas', { class: 'overview', 'aria-hidden': 'true' });
		this.spoken = element('div', { class: 'spoken', role: 'status' }); // for screen readers only
		this.content = element('div', {}, this.canvas); // as high as all tracks, while the canvas stays in view
		this.scroller = element('div', { class: 'scroller' }, this.content);
		this.status = element('div', { class: 'status' });
		this.about = element('div', { class: 'about', 'aria-live': 'polite' }); // details of the selected event
		this.root.append(
			this.toolbar(),
			this.overview,
			this.axis,
			this.scroller,
			this.status,
			this.about,
			this.legend(),
			this.spoken,
		);
		this.behavior();
	}

	processesOpen() {
		const tracks = this.model.processes.reduce((sum, process) => sum + process.tracks.length, 0);
		let shown = 0;
		for (const process of this.model.processes) {
			shown += process.tracks.length;
			process.open = tracks <= OPEN_TRACKS || shown <= OPEN_TRACKS / 2 || process === this.model.processes[0];
			process.folded =
				!!process.parent && process.children.length > 0 && this.model.processes.length > UNFOLDED_PROCESSES;
		}
	}

	toolbar() {
		this.input = element('input', {
			type: 'search',
			placeholder: 'find an event',
			'aria-label': 'find an event',
			oninput: () => this.searchSoon(),
			onkeydown: (event) => event.key === 'Enter' && this.next(event.shiftKey ? -1 : 1),
		});
		this.matches = element('span', { class: 'matches', role: 'status' });
		this.hideEmpty = element('input', { type: 'checkbox', checked: true, onchange: () => this.arrange() });
		return element(
			'div',
			{ class: 'toolbar' },
			this.input,
			element(
				'button',
				{ onclick: () => this.next(-1), title: 'previous match', 'aria-label': 'previous match' },
				'\u2039',
			),
			element('button', { onclick: () => this.next(1), title: 'next match', 'aria-label': 'next match' }, '\u203a'),
			this.matches,
			element('span', { class: 'grow' }),
			element('label', { class: 'matches' }, this.hideEmpty, ' hide empty tracks'),
			element(
				'button',
				{
					onclick: () => this.sumUp(this.lines, ...this.domain),
					title: 'sums of what is in view; shift+drag: of an area',
				},
				'sum',
			),
			element('button', { onclick: () => this.zoomBy(1.6), title: 'zoom in (w)', 'aria-label': 'zoom in' }, '+'),
			element(
				'button',
				{ onclick: () => this.zoomBy(1 / 1.6), title: 'zoom out (s)', 'aria-label': 'zoom out' },
				'\u2212',
			),
			element('button', { onclick: () => this.show(this.model.start, this.model.end) }, 'all'),
		);
	}

	legend() {
		const { model } = this,
			kinds = new Set([...model.names.values()].map((name) => name.kind));
		return element(
			'div',
			{ class: 'legend' },
			...Object.keys(KINDS)
				.filter((kind) => kinds.has(kind))
				.map((kind) => {
					const patch = element('i');
					patch.style.backgroundColor = colorOfKind(kind);
					if (WAITS.has(kind)) patch.classList.add('waits');
					else if (WAITING.has(kind) && kind !== 'nvtx') patch.classList.add('may-wait');
					return element('span', {}, patch, model.kinds[kind]);
				}),
			this.model.lifetimes.size
				? element('span', {}, element('i', { class: 'alive' }), 'alive: computes, or makes calls that are not recorded')
				: null,
			element(
				'details',
				{ class: 'help' },
				element('summary', {}, 'how to read and move'),
				...this.hints(kinds).map((text) => element('p', {}, text)),
			),
		);
	}

	hints(kinds) {
		return [
			'hatched: waits \u00b7 line below: may wait (files, network, MPI) \u00b7 sums "without waits" have neither',
			'arrows of a selected event: from call to GPU, from who released a lock to who got it',
			...([...STATES].some((kind) => kinds.has(kind))
				? ['states: exact in recorded calls and with context switches, else what the thread mostly was']
				: []),
			'drag: move \u00b7 shift+drag: sums of an area \u00b7 ctrl+wheel: zoom \u00b7 double click: zoom to an event',
			KEYS,
		];
	}

	behavior() {
		this.zoom = zoom()
			.scaleExtent([1, Math.max(2, (this.model.end - this.model.start) / 20)])
			.filter((event) =>
				event.type === 'wheel'
					? event.ctrlKey || event.metaKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)
					: !event.button && !event.shiftKey && event.type !== 'dblclick' && this.x(event) >= this.gutter,
			)
			.wheelDelta((event) => Math.max(-0.6, Math.min(0.6, -event.deltaY * 0.01)))
			.on('zoom', (event) => this.moved(event));
		select(this.canvas).call(this.zoom).on('dblclick.zoom', null);
		// Pan on horizontal wheel events, which d3-zoom would treat as zoom.
		this.canvas.addEventListener(
			'wheel',
			(event) => {
				if (event.ctrlKey || event.metaKey || (!event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)))
					return;
				event.preventDefault();
				event.stopImmediatePropagation();
				this.pan((event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) / this.plotWidth());
			},
			{ capture: true, passive: false },
		);
		this.canvas.addEventListener('pointerdown', (event) => {
			if (!event.shiftKey || event.button || this.x(event) < this.gutter) return;
			this.canvas.setPointerCapture(event.pointerId);
			this.area = { from: this.lineAt(event).y, x0: this.x(event), to: this.lineAt(event).y, x1: this.x(event) };
		});
		this.canvas.addEventListener('pointermove', (event) => {
			if (!this.area || !event.buttons) return;
			Object.assign(this.area, { to: this.lineAt(event).y, x1: Math.max(this.gutter, this.x(event)) });
			this.drawSoon();
		});
		this.canvas.addEventListener('pointerup', () => this.areaEnds());
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', tipHide);
		this.canvas.addEventListener('click', (event) => this.click(event));
		this.canvas.addEventListener('dblclick', (event) => {
			const hit = this.hit(event);
			if (hit) this.zoomTo(hit);
		});
		this.canvas.addEventListener('keydown', (event) => {
			if (key(this, event)) event.preventDefault();
		});
		for (const kind of ['focus', 'blur']) this.canvas.addEventListener(kind, () => this.drawSoon());
		this.scroller.addEventListener('scroll', () => this.draw());
		const seek = (event) => {
			if (event.buttons !== 1) return;
			const at = this.base().invert(event.offsetX),
				half = (this.domain[1] - this.domain[0]) / 2;
			this.show(at - half, at + half);
		};
		this.overview.addEventListener('pointerdown', seek);
		this.overview.addEventListener('pointermove', seek);
		new ResizeObserver(() => this.layout()).observe(this.root);
	}

	// ---- layout ----

	x(event) {
		return event.clientX - this.canvas.getBoundingClientRect().left;
	}
	plotWidth() {
		return Math.max(50, this.width - this.gutter);
	}
	base() {
		return scaleLinear([this.model.start, this.model.end], [this.gutter, this.gutter + this.plotWidth()]);
	}
	scale() {
		return scaleLinear(this.domain, [this.gutter, this.gutter + this.plotWidth()]);
	}

	layout() {
		if (!this.scroller.clientWidth) return; // not displayed
		this.width = Math.floor(this.scroller.clientWidth);
		const context = this.canvas.getContext('2d');
		let y = 0,
			widest = 0;
		context.font = FONT;
		const folded = new Set();
		for (const process of this.model.processes) {
			if (this.isFolded(process, folded)) continue;
			y += HEAD;
			if (!process.open)
				widest = Math.max(widest, context.measureText(headOf(process)).width * BOLD + indentOf(process));
			for (const track of process.open ? process.tracks : []) {
				widest = Math.max(widest, context.measureText(track.title).width + indentOf(process));
				y += track.rows * ROW + GAP;
			}
		}
		this.gutter = Math.round(Math.max(GUTTER_LEAST, Math.min(widest + 20, this.width * 0.3)));
		this.root.dataset.gutter = String(this.gutter);
		this.height = Math.min(Math.max(y + 4, 60), Math.max(260, Math.round(window.innerHeight * 0.62)));
		this.scroller.style.height = `${this.height + 2}px`; // including the border
		this.zoom
			.extent([
				[this.gutter, 0],
				[this.gutter + this.plotWidth(), this.height],
			])
			.translateExtent([
				[this.gutter, -Infinity],
				[this.gutter + this.plotWidth(), Infinity],
			]);
		this.show(...this.domain);
	}

	// Place the tracks that have something in view, or all tracks unless empty tracks are hidden. The first track in
	// view keeps its position.
	arrange() {
		clearTimeout(this.arranging);
		const top = this.scroller.scrollTop,
			same = (a, b) => a.process === b.process && a.track === b.track;
		const first = (this.lines || []).find((line) => line.y + line.height > top);
		const folded = new Set();
		let y = 0;
		this.lines = [];
		this.hidden = 0;
		const put = (line) => {
			this.lines.push({ y, ...line });
			y += line.height;
		};
		for (const process of this.model.processes) {
			if (this.isFolded(process, folded)) continue;
			const tracks = process.tracks.filter((track) => !this.hideEmpty.checked || this.isInView(track)),
				alive = !this.found.ids && this.overlaps(process.lifetime);
			this.hidden += process.tracks.length - tracks.length;
			if (!tracks.length && !alive && this.hideEmpty.checked && !process.children.length) continue;
			put({ height: HEAD, process });
			for (const track of process.open ? tracks : []) put({ height: track.rows * ROW + GAP, process, track });
		}
		this.content.style.height = `${Math.max(y + 4, this.height)}px`;
		const now = first && this.lines.find((line) => same(line, first));
		if (now) this.scroller.scrollTop = top + now.y - first.y;
		this.drawSoon();
	}

	// Return true if an ancestor of a process is folded. `folded` collects them; parents come before their children.
	isFolded(process, folded) {
		const { parent } = process;
		if (!parent || (!parent.folded && !folded.has(parent))) return false;
		folded.add(process);
		return true;
	}

	overlaps(span) {
		return !!span && span.start <= this.domain[1] && span.end >= this.domain[0];
	}

	// Return true if a track has something to show between the times in view.
	isInView(track) {
		if (this.selected && this.selected.track === track) return true;
		if (this.arrows.some((ends) => ends.some((end) => end.track === track))) return true;
		if (!this.found.ids && this.overlaps(track.lifetime)) return true;
		const coarsest = this.model.levels[this.model.levels.length - 1];
		for (let row = 0; row < track.rows; row++)
			if (this.model.reaches(this.rowOf(coarsest, track, row), ...this.domain)) return true;
		return false;
	}

	// Return the events of a row: all of a level, or those that the search found.
	rowOf(level, track, row) {
		return this.found.ids ? this.found.rows.get(`${track.id}/${row}`) : this.model.rowOf(level, track.id, row);
	}

	// ---- visible part ----

	moved(event) {
		const scale = event.transform.rescaleX(this.base());
		this.domain = scale.domain();
		this.drawSoon();
		clearTimeout(this.arranging);
		this.arranging = setTimeout(() => this.arrange(), ARRANGE_MS);
		if (this.linked && !this.following) this.linked.follow(this);
	}

	show(start, end) {
		const all = this.model.end - this.model.start,
			least = Math.min(all, 20);
		const length = Math.min(Math.max(end - start, least), all);
		const from = Math.min(Math.max((start + end - length) / 2, this.model.start), this.model.end - length);
		const base = this.base(),
			scale = all / length;
		select(this.canvas).call(
			this.zoom.transform,
			zoomIdentity.translate(this.gutter - base(from) * scale, 0).scale(scale),
		);
		this.arrange();
	}

	// Show the same times as another timeline, relative to the start of each.
	follow(other) {
		this.following = true;
		this.show(...other.domain.map((ns) => ns - other.model.start + this.model.start));
		this.following = false;
	}

	zoomTo(hit) {
		this.show(hit.start - hit.length * 0.5 - 20, hit.start + hit.length * 1.5 + 20);
	}

	zoomBy(factor) {
		const [start, end] = this.domain,
			middle = (start + end) / 2,
			half = (end - start) / 2 / factor;
		this.show(middle - half, middle + half);
	}
	pan(part) {
		const by = (this.domain[1] - this.domain[0]) * part;
		this.show(this.domain[0] + by, this.domain[1] + by);
	}

	// ---- search ----

	searchSoon() {
		clearTimeout(this.pending);
		this.pending = setTimeout(() => this.search(), 150);
	}
	search() {
		const text = this.input.value.trim();
		const result = text ? this.model.search(text, FOUND_MAX) : { ids: null, found: [] },
			count = result.found.length;
		// If nothing is found, all stays in view.
		this.found = { ...result, ids: count ? result.ids : null, at: -1 };
		this.matches.textContent = text ? `${grouped(count)}${count === FOUND_MAX ? ' or more' : ''} found` : '';
		if (count && this.selected && !result.ids.has(this.selected.id)) this.select(null);
		this.arrange();
	}
	next(step) {
		clearTimeout(this.pending);
		if (!this.found.ids) this.search();
		const { found } = this.found;
		if (!found.length) return;
		this.found.at = (this.found.at + step + found.length) % found.length;
		const hit = found[this.found.at];
		this.matches.textContent = `${grouped(this.found.at + 1)} of ${grouped(found.length)}`;
		this.goTo(hit);
	}

	// Select an event and bring it into view.
	goTo(hit) {
		if (this.found.ids && !this.found.ids.has(hit.id)) {
			this.input.value = '';
			this.search();
		}
		hit.process.open = true;
		for (let each = hit.process.parent; each; each = each.parent) each.folded = false;
		const around = Math.max(
			hit.length * 3,
			Math.min((this.domain[1] - this.domain[0]) / 2, (this.model.end - this.model.start) / 50),
		);
		this.select(hit);
		this.show(hit.start + hit.length / 2 - around, hit.start + hit.length / 2 + around);
		this.layout();
		const line = this.lines.find((each) => each.track === hit.track);
		this.scroller.scrollTop = Math.max(0, line.y + hit.row * ROW - this.height / 2);
	}

	select(hit) {
		this.selected = hit;
		this.arrows = hit ? this.model.details.arrows(hit) : [];
		this.summed = null;
		if (hit) this.cursor = { process: hit.process, track: hit.track };
		this.aboutShow(hit && panel(this, hit));
		if (this.lines) this.arrange();
	}

	// Show a panel below the timeline, which stays in view, or none.
	aboutShow(shown) {
		const close = element(
			'button',
			{ class: 'close', 'aria-label': 'close', onclick: () => this.select(null) },
			'\u00d7',
		);
		this.about.replaceChildren(...(shown ? [shown, close] : []));
		this.about.scrollTop = 0;
	}

	// ---- pointer ----

	lineAt(event) {
		const y = event.clientY - this.canvas.getBoundingClientRect().top + this.scroller.scrollTop;
		return { y, line: this.lines.find((each) => y >= each.y && y < each.y + each.height) };
	}

	hit(event) {
		const { y, line } = this.lineAt(event),
			x = this.x(event);
		if (!line || !line.track || x < this.gutter) return null;
		const row = Math.floor((y - line.y) / ROW),
			scale = this.scale(),
			pixel = (this.domain[1] - this.domain[0]) / this.plotWidth();
		const level = this.model.levelFor(pixel),
			events = row < line.track.rows && this.rowOf(level, line.track, row);
		if (!events) return null;
		const at = scale.invert(x),
			slack = pixel * 2;
		let best = null;
		for (let i = this.model.first(events, at - slack); i < events.start.length && events.start[i] <= at + slack; i++) {
			const end = events.start[i] + events.length[i],
				off = at < events.start[i] ? events.start[i] - at : at > end ? at - end : 0;
			if (off <= slack && (!best || off <= best.off))
				best = { off, ...this.model.event(events, i, { track: line.track, process: line.process, row }) };
		}
		return best;
	}

	describe(hit) {
		if (hit.count > 1) {
			return [
				`${grouped(hit.count)} events, the longest: ${hit.name.text}`,
				`together ${duration(hit.taken)} of ${duration(hit.length)}` +
					(hit.busy ? `, without waits ${duration(hit.busy)}` : ''),
				`from ${moment(hit.start, hit.length)}`,
				`${hit.track.title}, ${titleOf(hit.process)}`,
				this.model.levels[0].cell && hit.length <= this.model.levels[0].cell * 2
					? 'this page has no more detail here'
					: 'zoom in for each',
			];
		}
		return [
			hit.name.text,
			hit.name.detail,
			hit.length ? `lasted ${duration(hit.length)}` : null,
			`at ${moment(hit.start, hit.length)}`,
			`${hit.track.title}, ${titleOf(hit.process)}`,
		];
	}

	hover(event) {
		const hit = event.buttons ? null : this.hit(event);
		const { line } = this.lineAt(event);
		if (line && this.x(event) < this.gutter && !event.buttons) {
			tipShow(event, this.describeLine(line));
			return;
		}
		const lines = hit ? this.describe(hit) : event.buttons ? null : this.describeGap(event);
		if (lines) tipShow(event, lines);
		else tipHide();
	}

	describeLine({ process, track }) {
		const life = (track || process).lifetime;
		return [
			track ? track.title : titleOf(process),
			track ? titleOf(process) : tracksOf(process),
			life ? `lived ${duration(life.end - life.start)}, from ${moment(life.start, life.end - life.start)}` : null,
			!track && process.children.length ? `${grouped(process.children.length)} children` : null,
		];
	}

	// Describe the part of a lifetime at the pointer in which there is no event; null if there is none.
	describeGap(event) {
		const { line } = this.lineAt(event),
			x = this.x(event);
		if (!line || x < this.gutter) return null;
		const ns = this.scale().invert(x),
			{ process, track } = line,
			life = (track || process).lifetime,
			gap = track ? this.model.gap(process, track, ns) : life;
		if (!life || !gap || ns < life.start || ns > life.end) return null;
		const lived = life.end - life.start;
		return [
			...(track
				? [
						`no recorded call for ${duration(gap.length)}: computing, or short calls`,
						`from ${moment(gap.start, gap.length)}`,
					]
				: []),
			track ? track.title : titleOf(process),
			`lived ${duration(lived)}, from ${moment(life.start, lived)}`,
		];
	}

	click(event) {
		const { line } = this.lineAt(event),
			x = this.x(event);
		if (event.shiftKey && x >= this.gutter) return;
		if (line && !line.track) {
			const { process } = line,
				box = indentOf(process);
			if (process.children.length && x >= box - 4 && x < box + FOLD - 2) process.folded = !process.folded;
			else process.open = !process.open;
			this.layout();
			return;
		}
		this.select(this.hit(event));
		this.draw();
	}

	// ---- keyboard (keys.js) ----

	say(text) {
		this.spoken.textContent = text;
	}
	titleOf(process) {
		return titleOf(process);
	}

	// Scroll a line into view.
	reveal({ y, height }) {
		const top = this.scroller.scrollTop;
		if (y < top || y + height > top + this.height)
			this.scroller.scrollTop = Math.max(0, y - (y < top ? 0 : this.height - height));
	}

	countInView(track) {
		let count = 0;
		const [from, to] = this.domain,
			level = this.model.levels[0];
		for (let row = 0; row < track.rows; row++) {
			const events = this.rowOf(level, track, row);
			for (
				let i = events ? this.model.first(events, from) : 0;
				events && i < events.start.length && events.start[i] <= to;
				i++
			)
				if (events.start[i] + events.length[i] >= from) count += events.count[i];
		}
		return count;
	}

	// Return the event of a row after another one (step 1) or before it (step -1); without another, the first in view.
	neighbor(line, row, other, step) {
		const events = this.rowOf(this.model.levels[0], line.track, row);
		if (!events) return null;
		let i = this.model.first(events, other ? other.start : this.domain[0]);
		const isBehind = (start, length) => (other ? start > other.start : start + length >= this.domain[0]);
		while (i < events.start.length && !isBehind(events.start[i], events.length[i])) i++;
		if (step < 0) {
			i--;
			while (other && i >= 0 && events.start[i] >= other.start) i--;
		}
		if (i < 0 || i >= events.start.length) return null;
		return this.model.event(events, i, { process: line.process, track: line.track, row });
	}

	// ---- sums ----

	areaEnds() {
		const { area } = this;
		if (!area) return;
		this.area = null;
		const scale = this.scale(),
			[top, bottom] = [Math.min(area.from, area.to), Math.max(area.from, area.to)];
		const lines = this.lines.filter((line) => line.y + line.height > top && line.y < bottom);
		if (Math.abs(area.x1 - area.x0) < 3) return;
		this.sumUp(lines, scale.invert(Math.min(area.x0, area.x1)), scale.invert(Math.max(area.x0, area.x1)));
	}

	// Show the sums of tracks between two times; a closed process counts with all its tracks.
	sumUp(lines, from, to) {
		const tracks = new Set();
		for (const { process, track } of lines) {
			if (track) tracks.add(track);
			else if (!process.open) process.tracks.forEach((each) => tracks.add(each));
		}
		const rowsOf = (track, row) => this.rowOf(this.model.levels[0], track, row);
		this.select(null);
		this.summed = new Set(lines.map(({ process, track }) => track || process));
		[this.summedFrom, this.summedTo] = [from, to];
		this.aboutShow(areaPanel(this.model, [...tracks], rowsOf, from, to));
		this.drawSoon();
	}

	// ---- drawing ----

	drawSoon() {
		if (this.frame) return;
		this.frame = requestAnimationFrame(() => {
			this.frame = 0;
			this.draw();
		});
	}

	draw() {
		if (!this.lines || !this.width) return;
		const context = fit(this.canvas, this.width, this.height),
			scale = this.scale();
		const pixel = (this.domain[1] - this.domain[0]) / this.plotWidth(),
			level = this.model.levelFor(pixel),
			top = this.scroller.scrollTop;
		this.colors = {
			text: color('--text'),
			dim: color('--dim'),
			line: color('--line'),
			head: color('--head'),
			page: color('--page'),
			mark: color('--mark'),
			alive: color('--alive'),
		};
		this.hatch = this.hatch || hatch(context);
		context.font = FONT;
		context.textBaseline = 'middle';
		this.drawGrid(context, scale);
		for (const line of this.lines) {
			const y = line.y - top;
			if (y + line.height < 0 || y > this.height) continue;
			if (line.track) this.drawTrack(context, scale, level, line, y);
			else this.drawHead(context, scale, level, line, y);
		}
		this.drawCursor(context, top);
		this.drawArrows(context, scale, top);
		this.drawArea(context, scale, top);
		this.drawAxis(scale);
		this.drawOverview();
		const known = this.selected && this.selected.name;
		const parts = known ? this.describe(this.selected) : this.describeView();
		this.status.textContent = parts.filter(Boolean).join(' \u00b7 ');
	}

	describeView() {
		const [start, end] = this.domain;
		return [
			`${grouped(this.model.events)} event${this.model.events === 1 ? '' : 's'}`,
			`in view: ${duration(end - start)} from ${moment(start, end - start)}`,
			this.found.ids ? 'only what was found is shown' : '',
			this.hidden ? `${counted(this.hidden, 'track')} without an event here hidden` : '',
			this.model.tracksLeftOut ? `${grouped(this.model.tracksLeftOut)} tracks are left out of this page` : '',
		];
	}

	drawGrid(context, scale) {
		context.fillStyle = this.colors.line;
		for (const tick of scale.ticks(Math.max(2, this.plotWidth() / 110)))
			context.fillRect(Math.round(scale(tick)), 0, 1, this.height);
	}

	drawHead(context, scale, level, line, y) {
		context.fillStyle = this.colors.head;
		context.fillRect(0, y, this.width, HEAD - 2);
		if (line.process.lifetime) this.drawLifetime(context, scale, line.process.lifetime, y, HEAD - 2);
		if (!line.process.open) this.drawClosed(context, scale, level, line.process, y);
		context.fillStyle = this.colors.text;
		context.font = `600 ${FONT}`;
		const { process } = line;
		const x = indentOf(process) + (process.children.length ? FOLD : 0),
			title = headOf(process);
		if (process.children.length)
			context.fillText(process.folded ? '\u229e' : '\u229f', indentOf(process), y + HEAD / 2 - 1);
		context.fillText(fitted(context, title, (process.open ? this.width : this.gutter) - x - 6), x, y + HEAD / 2 - 1);
		context.font = FONT;
	}

	// Draw all tracks of a closed process on top of each other.
	drawClosed(context, scale, level, process, y) {
		const left = this.gutter,
			right = this.gutter + this.plotWidth(),
			[from, to] = this.domain;
		context.globalAlpha = process.tracks.length === 1 ? 0.8 : 0.4;
		for (const track of process.tracks.slice(0, CLOSED_TRACKS)) {
			const events = this.rowOf(level, track, 0);
			let reached = -1;
			for (
				let i = events ? this.model.first(events, from) : 0;
				events && i < events.start.length && events.start[i] <= to;
				i++
			) {
				const x0 = Math.max(scale(events.start[i]), left),
					x1 = Math.min(scale(events.start[i] + events.length[i]), right);
				if (x1 < left || (x1 <= reached && x1 - x0 < 1)) continue;
				context.fillStyle = colorOf(this.model.name(events.name[i]));
				context.fillRect(x0, y + 3, Math.max(x1 - x0, 1), HEAD - 8);
				reached = Math.floor(Math.max(x1, x0 + 1));
			}
		}
		context.globalAlpha = 1;
	}

	// Draw a lifetime: a band with a line below it, behind the events.
	drawLifetime(context, scale, { start, end }, y, height) {
		const x0 = Math.max(scale(start), this.gutter),
			x1 = Math.min(scale(end), this.gutter + this.plotWidth());
		if (x1 < this.gutter || x0 > this.gutter + this.plotWidth()) return;
		context.fillStyle = this.colors.alive;
		context.globalAlpha = 0.35;
		context.fillRect(x0, y + 1, Math.max(x1 - x0, 1), height - 2);
		context.globalAlpha = 1;
		context.fillRect(x0, y + height - 3, Math.max(x1 - x0, 1), 2);
	}

	drawTrack(context, scale, level, line, y) {
		if (line.track.lifetime) this.drawLifetime(context, scale, line.track.lifetime, y, ROW);
		for (let row = 0; row < line.track.rows; row++) {
			const events = y + (row + 1) * ROW >= 0 && y + row * ROW <= this.height && this.rowOf(level, line.track, row);
			if (events) this.drawRow(context, scale, events, y + row * ROW, line.track, row);
		}
		context.fillStyle = this.colors.page;
		context.fillRect(0, y, this.gutter - 1, line.height);
		context.fillStyle = this.colors.dim;
		const x = indentOf(line.process) + 6;
		context.fillText(fitted(context, line.track.title, this.gutter - x - 6), x, y + ROW / 2);
		context.fillStyle = this.colors.line;
		context.fillRect(0, y + line.height - 3, this.width, 1);
	}

	drawRow(context, scale, events, y, track, row) {
		const left = this.gutter,
			right = this.gutter + this.plotWidth(),
			[from, to] = this.domain;
		let reached = -1;
		for (let i = this.model.first(events, from); i < events.start.length && events.start[i] <= to; i++) {
			const x0 = Math.max(scale(events.start[i]), left - 1),
				x1 = Math.min(scale(events.start[i] + events.length[i]), right);
			if (x1 < left || (x1 <= reached && x1 - x0 < 1)) continue;
			const name = this.model.name(events.name[i]),
				several = events.count[i] > 1,
				width = Math.max(x1 - x0, 1);
			context.globalAlpha = several
				? 0.35 + 0.5 * Math.min(1, events.length[i] ? events.taken[i] / events.length[i] : 1)
				: 1;
			context.fillStyle = colorOf(name);
			context.fillRect(x0, y + 1, width > 3 ? width - 0.6 : width, ROW - 3);
			if (width > 4 && WAITS.has(name.kind)) {
				context.fillStyle = this.hatch;
				context.fillRect(x0, y + 1, width - 0.6, ROW - 3);
			} else if (width > 4 && WAITING.has(name.kind) && name.kind !== 'nvtx') {
				context.fillStyle = '#15202b';
				context.fillRect(x0, y + ROW - 4, width - 0.6, 1);
			}
			context.globalAlpha = 1;
			reached = Math.floor(x0 + width);
			if (
				this.selected &&
				this.selected.track === track &&
				this.selected.row === row &&
				this.selected.start === events.start[i]
			) {
				context.strokeStyle = this.colors.mark;
				context.lineWidth = 2;
				context.strokeRect(x0, y + 1, Math.max(width, 3), ROW - 3);
			}
			if (width > 12) {
				context.fillStyle = '#15202b';
				context.fillText(
					fitted(context, several ? `${grouped(events.count[i])} \u00d7 ${name.text}` : name.text, width - 5),
					x0 + 3,
					y + ROW / 2,
				);
			}
		}
	}

	// Draw the arrows of the selected event: from calls to operations, from the holder of a lock to the next
	// holder.
	drawArrows(context, scale, top) {
		if (!this.selected) return;
		const place = ({ ns, process, track, row }) => {
			const line = this.lines.find((each) => (process.open ? each.track === track : each.process === process));
			return line && [scale(ns), line.y - top + (process.open ? row * ROW + ROW / 2 : HEAD / 2)];
		};
		context.save();
		context.beginPath();
		context.rect(this.gutter, 0, this.plotWidth(), this.height);
		context.clip();
		context.strokeStyle = context.fillStyle = this.colors.mark;
		context.lineWidth = 2;
		for (const [from, to] of this.arrows) {
			const [start, end] = [place(from), place(to)];
			if (!start || !end) continue; // its process is folded
			const [[x0, y0], [x1, y1]] = [start, end];
			const bend = Math.max(12, Math.min(60, (x1 - x0) / 2)),
				steep = x1 - x0 < 24;
			context.beginPath();
			context.moveTo(x0, y0);
			if (steep) context.lineTo(x1, y1);
			else context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
			context.stroke();
			const angle = steep ? Math.atan2(y1 - y0, x1 - x0) : 0;
			context.beginPath();
			context.moveTo(x1, y1);
			for (const side of [-0.45, 0.45])
				context.lineTo(x1 - ARROW * Math.cos(angle + side), y1 - ARROW * Math.sin(angle + side));
			context.fill();
		}
		context.restore();
	}

	// Draw the cursor of the keyboard beside the title of its track.
	drawCursor(context, top) {
		if (!this.cursor || !this.lines.length || document.activeElement !== this.canvas) return;
		const line = cursorLine(this);
		context.fillStyle = this.colors.mark;
		context.fillRect(2, line.y - top + 1, 3, line.height - GAP);
	}

	// Draw the area that is being selected or is summed up.
	drawArea(context, scale, top) {
		const { area, summed } = this;
		if (!area && !summed) return;
		const lines = summed ? this.lines.filter(({ process, track }) => summed.has(track || process)) : [],
			last = lines[lines.length - 1];
		if (!area && !last) return;
		const [x0, x1, y0, y1] = area
			? [area.x0, area.x1, area.from, area.to]
			: [scale(this.summedFrom), scale(this.summedTo), lines[0].y, last.y + last.height];
		context.fillStyle = this.colors.mark;
		context.globalAlpha = 0.12;
		context.fillRect(
			Math.max(this.gutter, Math.min(x0, x1)),
			Math.min(y0, y1) - top,
			Math.abs(x1 - x0),
			Math.abs(y1 - y0),
		);
		context.globalAlpha = 1;
	}

	drawAxis(scale) {
		const context = fit(this.axis, this.width, AXIS),
			count = Math.max(2, this.plotWidth() / 110),
			ticks = scale.ticks(count);
		const step = ticks.length > 1 ? ticks[1] - ticks[0] : this.domain[1] - this.domain[0];
		const [unit, name] = this.domain[1] >= 1e9 ? [1e9, 's'] : this.domain[1] >= 1e6 ? [1e6, 'ms'] : [1e3, 'us'];
		const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
		context.font = FONT;
		context.textBaseline = 'middle';
		context.fillStyle = this.colors.dim;
		for (const tick of ticks) {
			const x = Math.round(scale(tick)),
				text = `${(tick / unit).toFixed(digits)} ${name}`;
			context.fillRect(x, AXIS - 5, 1, 5);
			if (x + 4 + text.length * LETTER < this.width) context.fillText(text, x + 4, AXIS / 2);
		}
	}

	// Compute the time in events of each kind that do not wait, over the whole session.
	overviewBins() {
		const bins = 600,
			level = this.model.levels[this.model.levels.length - 1],
			cell = (this.model.end - this.model.start) / bins,
			kinds = new Map();
		for (const process of this.model.processes) {
			for (const track of process.tracks) {
				for (let row = 0; row < track.rows; row++) {
					const events = this.model.rowOf(level, track.id, row);
					for (let i = 0; events && i < events.start.length; i++) {
						const { busy, length, name } = this.model.event(events, i),
							kind = isBusy(name.kind) ? name.kind : 'osrt'; // the longest of several may wait
						if (!busy) continue;
						if (!kinds.has(kind)) kinds.set(kind, new Float64Array(bins));
						const into = kinds.get(kind),
							first = Math.max(0, Math.floor((events.start[i] - this.model.start) / cell)),
							end = events.start[i] + events.length[i];
						const last = Math.min(bins - 1, Math.floor((end - this.model.start) / cell)),
							share = length ? busy / length : 0;
						for (let bin = first; bin <= last; bin++) {
							const begin = this.model.start + bin * cell;
							into[bin] += (Math.max(0, Math.min(end, begin + cell) - Math.max(events.start[i], begin)) * share) / cell;
						}
					}
				}
			}
		}
		return { bins, kinds };
	}

	drawOverview() {
		const context = fit(this.overview, this.width, OVERVIEW),
			width = this.plotWidth(),
			base = this.base();
		this.bins = this.bins || this.overviewBins();
		const { bins, kinds } = this.bins,
			sum = new Float64Array(bins);
		let most = 1e-9;
		for (const values of kinds.values())
			values.forEach((value, bin) => {
				sum[bin] += value;
			});
		for (const value of sum) most = Math.max(most, value);
		const below = new Float64Array(bins);
		for (const kind of Object.keys(KINDS).filter((each) => kinds.has(each))) {
			context.fillStyle = colorOfKind(kind);
			kinds.get(kind).forEach((value, bin) => {
				const height = (value / most) * (OVERVIEW - 6);
				context.fillRect(
					this.gutter + (bin * width) / bins,
					OVERVIEW - 2 - below[bin] - height,
					width / bins + 0.4,
					height,
				);
				below[bin] += height;
			});
		}
		context.font = FONT;
		context.fillStyle = this.colors.dim;
		context.fillText('calls, GPUs; no waits', 14, OVERVIEW / 2 + 4);
		const x0 = base(this.domain[0]),
			x1 = Math.max(base(this.domain[1]), x0 + 2);
		context.fillStyle = color('--shade');
		context.fillRect(this.gutter, 0, x0 - this.gutter, OVERVIEW);
		context.fillRect(x1, 0, this.gutter + width - x1, OVERVIEW);
		context.strokeStyle = this.colors.mark;
		context.lineWidth = 1;
		context.strokeRect(x0 + 0.5, 0.5, Math.max(1, x1 - x0 - 1), OVERVIEW - 1);
	}
}

const titleOf = (process) => processTitle(process.name, process.pid);
const headOf = (process) =>
	(process.open ? `\u25be ${titleOf(process)}` : `\u25b8 ${titleOf(process)}, ${tracksOf(process)}`) +
	(process.folded ? `, ${counted(descendants(process), 'process', 'processes')} folded` : '');
const tracksOf = (process) => counted(process.tracks.length, 'track');
const indentOf = (process) => 8 + Math.min(process.depth, 8) * 12;
const descendants = (process) => process.children.reduce((sum, each) => sum + 1 + descendants(each), 0);
