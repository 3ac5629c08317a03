// SPDX-License-Identifier: Apache-2.0
// The flame graph: callchains as an icicle with the outermost function on top, laid out by d3-hierarchy and drawn on a
// canvas. A sandwich shows one function, its callers above and what it calls below. With two reports a function's width
// is its time in one of them, and its color shows how it differs in the other.
import { hierarchy, partition } from 'd3-hierarchy';
import { callTree, filtered, GPU, sandwich, STATE, WAIT } from './calltree.js';
import { clipped, color, counted, duration, element, fit, hatch, tipHide, tipShow } from './dom.js';

const ROW = 18,
	LETTER = 6.1,
	FONT = '11px system-ui, sans-serif',
	HEIGHT_MAX = 560;
// What the graphs of a report show, and what their leaves are counted as; the first that a report has is shown first.
const GRAPHS = {
	wall: { title: 'wall time of threads', noun: 'event' },
	offcpu: { title: 'off-CPU time of threads', noun: 'wait' },
	cpu: { title: 'on-CPU samples', noun: 'sample' },
	functions: { title: 'functions of libraries', noun: 'call' },
	calls: { title: 'recorded calls', noun: 'call' },
};
const KINDS = {
	[WAIT]: { text: 'call that waited', fill: 'hsl(205 42% 72%)' },
	[GPU]: { text: 'GPU operation that a thread waited for, below its launch', fill: 'hsl(140 42% 68%)' },
	[STATE]: { text: 'no CPU, stopped or unknown', fill: 'hsl(215 6% 76%)' },
};
const RUNNING = 'hsl(34 80% 70%)';
const NOTHING = { nodes: [], texts: [] };
const KEYS =
	'keys: \u2191 \u2193 callers and callees \u00b7 \u2190 \u2192 beside \u00b7 enter: sandwich \u00b7 escape: all';

export class FlameView {
	// reports: [graphs, names of processes] of one report, or of two that are compared.
	constructor(reports) {
		this.reports = reports;
		this.graphs = Object.keys(GRAPHS).filter((name) => reports.some(([graphs]) => graphOf(graphs, name)));
		this.compares = reports.length === 2;
		this.side = reports.length - 1;
		this.weight = 'self';
		this.function = null; // name of the sandwich's function
		this.canvas = element('canvas', {
			tabindex: '0',
			role: 'application',
			'aria-roledescription': 'flame graph',
		});
		this.legend = element('div', { class: 'legend' });
		this.scroller = element('div', { class: 'scroller flame' }, this.canvas);
		this.path = element('div', { class: 'status', 'aria-live': 'polite' });
		this.root = element('section', { class: 'flamegraph' }, this.toolbar(), this.scroller, this.path, this.legend);
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', tipHide);
		this.canvas.addEventListener('click', (event) => {
			const node = this.at(event);
			if (node) this.choose(node);
		});
		this.canvas.addEventListener('dblclick', () => this.sandwichOf(this.focus));
		this.canvas.addEventListener('keydown', (event) => this.key(event));
		new ResizeObserver(() => this.layout()).observe(this.root);
		this.show(this.graphs[0]);
	}

	// Show a graph: a name of GRAPHS.
	show(name) {
		const { root, joined } = callTree(this.reports.map(([graphs, names]) => [graphOf(graphs, name) || NOTHING, names])),
			{ title, noun } = GRAPHS[name],
			kinds = new Set();
		const visit = (node) => {
			kinds.add(node.kind);
			node.children.forEach(visit);
		};
		visit(root);
		this.data = root;
		this.joined = joined;
		this.noun = noun;
		this.function = null;
		// Samples of nsys have no time.
		const graphs = this.reports.map(([some]) => graphOf(some, name) || NOTHING);
		this.weight = graphs.some(({ nodes }) => nodes.some((node) => node[3])) ? 'self' : 'count';
		this.weights.value = this.weight;
		this.weights.lastChild.textContent = `by ${noun}s`;
		this.canvas.setAttribute('aria-label', `${title}: callchains, the outermost function on top; ${KEYS}`);
		const patch = (fill, text, hatched) => {
			const mark = element('i', hatched ? { class: 'waits' } : {});
			mark.style.backgroundColor = fill;
			return element('span', {}, mark, text);
		};
		const shown = [WAIT, GPU, STATE].filter((kind) => kinds.has(kind) && !this.compares);
		this.legend.replaceChildren(
			...(shown.length && name === 'wall' ? [patch(RUNNING, 'function: the innermost ran')] : []),
			...shown.map((kind) => patch(KINDS[kind].fill, KINDS[kind].text, kind === WAIT)),
		);
		this.build();
	}

	toolbar() {
		const chooser = (label, choices, chosen, choose) =>
			element(
				'select',
				{ 'aria-label': label, onchange: (event) => choose(event.target.value) },
				...choices.map(([value, text]) => element('option', { value, selected: value === chosen }, text)),
			);
		this.input = element('input', {
			type: 'search',
			placeholder: 'find a function',
			'aria-label': 'find a function',
			oninput: () => (this.only.checked ? this.build() : this.search()),
			onkeydown: (event) => event.key === 'Enter' && this.sandwichOf(this.heaviestMatch()),
		});
		this.weights = chooser(
			'weight',
			[
				['self', 'by time'],
				['count', 'by calls'],
			],
			'self',
			(value) => this.build((this.weight = value)),
		);
		this.matches = element('span', { class: 'matches' });
		this.only = element('input', { type: 'checkbox', class: 'only', onchange: () => this.build() });
		this.both = element(
			'button',
			{ class: 'both', title: 'double click, or Enter', onclick: () => this.sandwichOf(this.focus) },
			'callers and callees',
		);
		return element(
			'div',
			{ class: 'toolbar' },
			this.input,
			this.matches,
			element('label', { class: 'hint' }, this.only, ' only callchains with it'),
			element('span', { class: 'grow' }),
			this.compares
				? chooser(
						'widths',
						[
							['1', 'widths of B'],
							['0', 'widths of A'],
						],
						'1',
						(value) => this.build((this.side = Number(value))),
					)
				: null,
			this.graphs.length > 1
				? chooser(
						'graph',
						this.graphs.map((name) => [name, GRAPHS[name].title]),
						this.graphs[0],
						(name) => this.show(name),
					)
				: null,
			this.weights,
			this.both,
			element('button', { class: 'all', onclick: () => this.all() }, 'all'),
		);
	}

	wanted() {
		return this.input.value.trim().toLowerCase();
	}

	matching() {
		const wanted = this.wanted();
		return (node) => wanted !== '' && node.name.toLowerCase().includes(wanted);
	}

	// Lay out a tree. up: its rows extend upward from `base`, the row of its root.
	part(data, up) {
		const tree = partition()(
			hierarchy(data)
				.sum((node) => node.sides[this.side][this.weight])
				.sort((a, b) => b.value - a.value),
		);
		tree.eachAfter((node) => {
			node.up = up;
			node.values = node.data.sides.map((side, at) =>
				(node.children || []).reduce((sum, child) => sum + child.values[at], side[this.weight]),
			);
		});
		return tree;
	}

	build() {
		const data = this.only.checked && this.wanted() ? filtered(this.data, this.matching()) : this.data;
		this.whole = this.part(data, false);
		this.parts = [this.whole];
		this.base = 0;
		if (this.function !== null) {
			const { callers, callees } = sandwich(data, this.function);
			this.parts = [this.part(callers, true), this.part(callees, false)];
			this.base = this.parts[0].height;
		}
		this.tree = this.parts.at(-1);
		this.focus = this.tree;
		this.search();
		this.layout();
	}

	choose(node) {
		if (this.function !== null) this.sandwichOf(node);
		else this.focusOn(node);
	}

	focusOn(node) {
		this.focus = node;
		this.layout();
	}

	sandwichOf(node) {
		if (!node || node === this.whole || node.data.isProcess) return;
		this.function = node.data.name;
		this.build();
		this.scroller.scrollTop = Math.max(0, this.base * ROW - this.scroller.clientHeight / 2);
	}

	all() {
		this.function = null;
		this.build();
	}

	heaviestMatch() {
		const matches = this.matching();
		return this.whole
			.descendants()
			.filter((node) => matches(node.data) && !node.data.isProcess)
			.sort((a, b) => b.value - a.value)[0];
	}

	layout() {
		this.width = Math.floor(this.scroller.clientWidth || 900);
		this.height = (this.base + this.tree.height + 1) * ROW + 2;
		this.scroller.style.height = `${Math.min(this.height, HEIGHT_MAX) + 2}px`;
		this.both.disabled = this.function !== null || this.focus === this.whole || this.focus.data.isProcess;
		this.draw();
	}

	x(value) {
		return ((value - this.focus.x0) / (this.focus.x1 - this.focus.x0 || 1)) * this.width;
	}

	y(node) {
		return (this.base + (node.up ? -node.depth : node.depth)) * ROW;
	}

	search() {
		const wanted = this.wanted(),
			matches = this.matching();
		let sum = 0;
		// The value of a match includes the matches inside it.
		const visit = (node, within) => {
			node.found = matches(node.data);
			if (node.found && !within && !node.up) sum += node.value;
			for (const child of node.children || []) visit(child, within || node.found);
		};
		this.parts.forEach((tree) => visit(tree, false));
		this.matches.textContent = wanted ? `${((100 * sum) / (this.tree.value || 1)).toFixed(1)} %` : '';
		this.searching = wanted !== '';
		this.draw();
	}

	// Return the color of a function: its own, or with two reports red where B is greater and blue where it is less.
	fill(node) {
		if (node.found) return 'hsl(285 60% 72%)';
		if (this.compares) {
			const [a, b] = node.values,
				change = (b - a) / (Math.max(a, b) || 1);
			return `hsl(${change > 0 ? 4 : 212} ${Math.round(80 * Math.min(1, 4 * Math.abs(change)))}% ${Math.round(
				90 - 26 * Math.abs(change),
			)}%)`;
		}
		if (node.data.isProcess || node === this.whole) return 'hsl(215 25% 76%)';
		if (KINDS[node.data.kind]) return KINDS[node.data.kind].fill;
		let hash = 0;
		for (let i = 0; i < node.data.name.length; i++) hash = (hash * 31 + node.data.name.charCodeAt(i)) | 0;
		return `hsl(${18 + ((hash >>> 4) % 34)} 80% ${66 + ((hash >>> 12) % 10)}%)`;
	}

	draw() {
		if (!this.width) return;
		const context = fit(this.canvas, this.width, this.height);
		this.hatch = this.hatch || hatch(context);
		context.font = FONT;
		context.textBaseline = 'middle';
		const visit = (node) => {
			const x0 = Math.max(0, this.x(node.x0)),
				x1 = Math.min(this.width, this.x(node.x1)),
				y = this.y(node),
				width = x1 - x0;
			if (width < 0.4) return;
			context.globalAlpha = this.searching && !node.found ? 0.3 : 1;
			context.fillStyle = this.fill(node);
			context.fillRect(x0, y, Math.max(width - 0.6, 0.4), ROW - 1);
			if (width > 4 && node.data.kind === WAIT && !this.compares) {
				context.fillStyle = this.hatch;
				context.fillRect(x0, y, width - 0.6, ROW - 1);
			}
			if (width > 24) {
				context.fillStyle = '#2a1a08';
				context.fillText(clipped(node.data.name, width - 6, LETTER), x0 + 3, y + ROW / 2);
			}
			context.globalAlpha = 1;
			for (const child of node.children || []) visit(child);
		};
		this.parts.forEach(visit);
		if (!this.tree.value) {
			context.fillStyle = color('--dim');
			context.fillText('no time', 8, ROW / 2);
		}
		this.path.textContent = this.describe();
	}

	describe() {
		if (this.function !== null)
			return `callers and callees of ${this.function} \u00b7 ${this.say(this.tree.value)} \u00b7 click to switch`;
		if (this.focus === this.whole) {
			const joined = this.joined ? `${counted(this.joined, 'place')} where cut callchains were joined \u00b7 ` : '';
			return `${counted(this.whole.descendants().length - 1, 'function')} \u00b7 ${joined}click to enlarge`;
		}
		const path = this.focus.ancestors().reverse();
		const value = this.compares ? this.difference(this.focus.values) : this.say(this.focus.value);
		const kind = KINDS[this.focus.data.kind];
		return [path.map((node) => node.data.name).join(' \u203a '), value, kind && kind.text]
			.filter(Boolean)
			.join(' \u00b7 ');
	}

	say(value) {
		return this.weight === 'self' ? duration(value) : counted(value, this.noun);
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect(),
			x = event.clientX - box.left,
			row = Math.floor((event.clientY - box.top) / ROW) - this.base,
			depth = Math.abs(row);
		let node = this.parts[row < 0 ? 0 : this.parts.length - 1];
		while (node && node.depth < depth)
			node = (node.children || []).find((child) => this.x(child.x0) <= x && x < this.x(child.x1));
		return node;
	}

	// Arrows move to callers, callees and neighbors; Enter shows a sandwich, Escape everything.
	key(event) {
		const beside = (step) => {
			const all = this.focus.parent?.children || [];
			return all[all.indexOf(this.focus) + step];
		};
		const to = {
			ArrowUp: () => this.focus.parent,
			ArrowDown: () => this.focus.children?.[0],
			ArrowLeft: () => beside(-1),
			ArrowRight: () => beside(1),
		}[event.key];
		if (event.key === 'Enter') this.sandwichOf(this.focus);
		else if (event.key === 'Escape') this.all();
		else if (to && to()) this.focusOn(to());
		else return;
		event.preventDefault();
	}

	// Describe the difference of the two reports.
	difference([a, b]) {
		return `A ${this.say(a)}, B ${this.say(b)}: ${b < a ? '\u2212' : '+'}${this.say(Math.abs(b - a))}`;
	}

	hover(event) {
		const node = this.at(event);
		if (!node) {
			tipHide();
			return;
		}
		const { self, count } = node.data.sides[this.side];
		tipShow(event, [
			node.data.name,
			`${this.say(node.value)}, ${((100 * node.value) / (this.tree.value || 1)).toFixed(2)} %`,
			this.compares ? this.difference(node.values) : null,
			KINDS[node.data.kind] ? KINDS[node.data.kind].text : null,
			node.up ? null : `itself: ${duration(self)}, ${counted(count, this.noun)}`,
		]);
	}
}

function graphOf(graphs, name) {
	return graphs.find((graph) => graph.name === name);
}
