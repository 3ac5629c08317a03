// SPDX-License-Identifier: Apache-2.0
// Helpers for elements, numbers and canvases. Texts of a report only become text nodes or pixels, and are never
// parsed as markup, because reports are hostile.

export function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
		else if (value !== false && value != null) made.setAttribute(name, value === true ? '' : value);
	}
	made.append(...children.filter((child) => child != null));
	return made;
}

// Format a duration in ns with a unit and three or four digits.
export function duration(ns) {
	const size = Math.abs(ns);
	if (size < 1e3) return `${Math.round(ns)} ns`;
	if (size < 1e6) return `${(ns / 1e3).toFixed(size < 1e4 ? 2 : 1)} us`;
	if (size < 1e9) return `${(ns / 1e6).toFixed(size < 1e7 ? 3 : 2)} ms`;
	return `${(ns / 1e9).toFixed(size < 1e10 ? 4 : 2)} s`;
}

// Format a time of the session, in ns, with the precision that a view of `scale` ns needs.
export function moment(ns, scale) {
	const [unit, name] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : [1e3, 'us'];
	const digits = Math.min(Math.log10(unit), Math.ceil(Math.log10((100 * unit) / Math.max(scale, 1))));
	return `${(ns / unit).toFixed(Math.max(2, digits))} ${name}`;
}

// Format a number with thousands separators and `digits` decimals.
export function grouped(number, digits = Number.isInteger(number) ? 0 : 1) {
	return number.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// Return the name of a process with its number; 0 is not known.
export function processTitle(name, pid) {
	return `${name || 'process'}${pid ? ` (${pid})` : ''}`;
}

// Format a number of things: '1 event', '2 events'.
export function counted(number, noun, nouns = `${noun}s`) {
	return `${grouped(number)} ${number === 1 ? noun : nouns}`;
}

// Resize a canvas to the resolution of the screen and clear it. Returns its context, scaled to CSS pixels.
export function fit(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = canvas.getContext('2d');
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	return context;
}

export function color(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The only tooltip of the page; it follows the pointer.
const tip = element('div', { class: 'tip', hidden: true });
export function tipShow(event, lines) {
	if (!tip.isConnected) document.body.append(tip);
	tip.replaceChildren(
		...lines.filter(Boolean).map((line, index) => element('div', index ? {} : { class: 'first' }, line)),
	);
	tip.hidden = false;
	const width = tip.offsetWidth,
		height = tip.offsetHeight;
	tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8))}px`;
	const below = event.clientY + 18;
	tip.style.top = `${below + height > window.innerHeight ? Math.max(4, event.clientY - height - 10) : below}px`;
}
export function tipHide() {
	tip.hidden = true;
}

// Truncate a text to a width in pixels, as the context draws it.
export function fitted(context, text, width) {
	if (context.measureText(text).width <= width) return text;
	let kept = 0;
	for (let step = 1 << 9; step; step >>= 1)
		if (kept + step < text.length && context.measureText(`${text.slice(0, kept + step)}\u2026`).width <= width)
			kept += step;
	return kept < 2 ? '' : `${text.slice(0, kept)}\u2026`;
}

// Truncate a text to a width in pixels. `letter`: mean width of a letter in its font.
export function clipped(text, width, letter) {
	const most = Math.floor(width / letter);
	return text.length <= most ? text : most < 3 ? '' : `${text.slice(0, most - 1)}\u2026`;
}

const HATCH = 6; // distance of the lines across waits

// Return a pattern of diagonal lines: the mark of waits, besides their color.
export function hatch(context) {
	const tile = element('canvas', { width: HATCH, height: HATCH }),
		lines = tile.getContext('2d');
	lines.strokeStyle = 'rgba(255, 255, 255, 0.55)';
	lines.lineWidth = 1.4;
	lines.beginPath();
	for (const at of [-HATCH, 0, HATCH]) {
		lines.moveTo(at, HATCH);
		lines.lineTo(at + HATCH, 0);
	}
	lines.stroke();
	return context.createPattern(tile, 'repeat');
}
