// SPDX-License-Identifier: Apache-2.0
// The flame graph: callchains as an icicle with the outermost function on top, laid out by d3-hierarchy and drawn on
// a canvas.
import { hierarchy, partition } from 'd3-hierarchy';
import { clipped, color, counted, duration, element, fit, tipHide, tipShow } from './dom.js';

const ROW = 18,
	LETTER = 6.1,
	FONT = '11px system-ui, sans-serif',
	HEIGHT_MOST = 560;

function tree(data, names) {
	const texts = new Map(data.texts),
		root = { name: 'all', self: 0, count: 0, children: [] },
		nodes = [root];
	for (const [parent, id, isProcess, self, count] of data.nodes) {
		const name = isProcess ? names.get(id) || `process ${id % 0x1000000}` : texts.get(id) || '(no name)';
		const node = { name, self, count, children: [], isProcess };
		nodes[parent].children.push(node);
		nodes.push(node);
	}
	return root;
}

export class FlameView {
	constructor(data, names) {
		this.data = tree(data, names);
		this.weight = 'self';
		this.canvas = element('canvas', { 'aria-label': 'flame graph' });
		this.scroller = element('div', { class: 'scroller flame' }, this.canvas);
		this.input = element('input', {
			type: 'search',
			placeholder: 'find a function',
			'aria-label': 'find a function',
			oninput: () => this.search(),
		});
		this.matches = element('span', { class: 'matches' });
		this.path = element('div', { class: 'status' });
		const weigh = (event) => {
			this.weight = event.target.value;
			this.build();
		};
		this.root = element(
			'section',
			{ class: 'flamegraph' },
			element(
				'div',
				{ class: 'toolbar' },
				this.input,
				this.matches,
				element('span', { class: 'grow' }),
				element(
					'select',
					{ onchange: weigh, 'aria-label': 'weight' },
					element('option', { value: 'self' }, 'by time'),
					element('option', { value: 'count' }, 'by calls'),
				),
				element('button', { onclick: () => this.focusOn(this.tree) }, 'all'),
			),
			this.scroller,
			this.path,
		);
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', tipHide);
		this.canvas.addEventListener('click', (event) => {
			const node = this.at(event);
			if (node) this.focusOn(node);
		});
		new ResizeObserver(() => this.layout()).observe(this.root);
		this.build();
	}

	build() {
		this.tree = partition()(
			hierarchy(this.data)
				.sum((node) => node[this.weight])
				.sort((a, b) => b.value - a.value),
		);
		this.focusOn(this.tree);
	}

	focusOn(node) {
		this.focus = node;
		this.layout();
	}

	layout() {
		this.width = Math.floor(this.scroller.clientWidth || 900);
		this.height = (this.tree.height + 1) * ROW + 2;
		this.scroller.style.height = `${Math.min(this.height, HEIGHT_MOST) + 2}px`;
		this.draw();
	}

	x(value) {
		return ((value - this.focus.x0) / (this.focus.x1 - this.focus.x0 || 1)) * this.width;
	}

	search() {
		const wanted = this.input.value.trim().toLowerCase();
		let sum = 0;
		// The value of a match includes the matches inside it.
		const visit = (node, within) => {
			node.found = wanted !== '' && node.data.name.toLowerCase().includes(wanted);
			if (node.found && !within) sum += node.value;
			for (const child of node.children || []) visit(child, within || node.found);
		};
		visit(this.tree, false);
		this.matches.textContent = wanted ? `${((100 * sum) / (this.tree.value || 1)).toFixed(1)} %` : '';
		this.searching = wanted !== '';
		this.draw();
	}

	draw() {
		const context = fit(this.canvas, this.width, this.height);
		const text = '#2a1a08',
			dim = color('--dim');
		context.font = FONT;
		context.textBaseline = 'middle';
		const visit = (node) => {
			const x0 = Math.max(0, this.x(node.x0)),
				x1 = Math.min(this.width, this.x(node.x1)),
				width = x1 - x0;
			if (width < 0.4) return;
			let hash = 0;
			for (let i = 0; i < node.data.name.length; i++) hash = (hash * 31 + node.data.name.charCodeAt(i)) | 0;
			context.globalAlpha = this.searching && !node.found ? 0.3 : 1;
			context.fillStyle = node.found
				? 'hsl(285 60% 72%)'
				: node.depth < 2
					? 'hsl(215 25% 76%)'
					: `hsl(${18 + ((hash >>> 4) % 34)} 80% ${66 + ((hash >>> 12) % 10)}%)`;
			context.fillRect(x0, node.depth * ROW, Math.max(width - 0.6, 0.4), ROW - 1);
			if (width > 24) {
				context.fillStyle = text;
				context.fillText(clipped(node.data.name, width - 6, LETTER), x0 + 3, node.depth * ROW + ROW / 2);
			}
			context.globalAlpha = 1;
			for (const child of node.children || []) visit(child);
		};
		visit(this.tree);
		if (!this.tree.value) {
			context.fillStyle = dim;
			context.fillText('no time', 8, ROW / 2);
		}
		this.path.textContent =
			this.focus === this.tree
				? `${counted(this.tree.descendants().length - 1, 'function')} \u00b7 click one to enlarge it`
				: `${this.focus
						.ancestors()
						.reverse()
						.map((node) => node.data.name)
						.join(' \u203a ')} \u00b7 ${this.say(this.focus.value)}`;
	}

	say(value) {
		return this.weight === 'self' ? duration(value) : counted(value, 'call');
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect(),
			x = event.clientX - box.left,
			depth = Math.floor((event.clientY - box.top) / ROW);
		let node = this.tree;
		while (node && node.depth < depth)
			node = (node.children || []).find((child) => this.x(child.x0) <= x && x < this.x(child.x1));
		return node;
	}

	hover(event) {
		const node = this.at(event);
		if (!node) {
			tipHide();
			return;
		}
		tipShow(event, [
			node.data.name,
			`${this.say(node.value)}, ${((100 * node.value) / (this.tree.value || 1)).toFixed(2)} %`,
			`of itself: ${duration(node.data.self)}, ${counted(node.data.count, 'call')}`,
		]);
	}
}
