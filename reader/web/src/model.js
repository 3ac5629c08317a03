// SPDX-License-Identifier: Apache-2.0
// The timeline's data: lanes of processes, and levels of detail whose rows are decoded when they are first looked at.
import { bisectLeft } from 'd3-array';

// Decode the rows of a lane, in order of their start, into typed arrays of one length. count 1: an event; more: several
// events that are shown as one, named after the longest.
function decode(text) {
	const bytes = atob(text),
		end = bytes.length;
	let at = 0;
	const number = () => {
		let value = 0,
			scale = 1,
			byte;
		do {
			byte = bytes.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127 && at < end);
		return value;
	};
	const start = [],
		length = [],
		name = [],
		count = [],
		busy = [];
	for (let last = 0; at < end; ) {
		last += number();
		const twice = number(),
			several = twice % 2;
		start.push(last);
		length.push((twice - several) / 2);
		name.push(number());
		count.push(several ? number() : 1);
		busy.push(several ? number() : (twice - several) / 2);
	}
	return {
		start: Float64Array.from(start),
		length: Float64Array.from(length),
		name: Uint32Array.from(name),
		count: Float64Array.from(count),
		busy: Float64Array.from(busy),
	};
}

export class Timeline {
	constructor(data) {
		this.start = data.start_ns;
		this.end = Math.max(data.end_ns, data.start_ns + 1);
		this.events = data.events;
		this.names = new Map(
			data.names.map(([id, kind, text, detail]) => [id, { kind, text: text || '(no name)', detail }]),
		);
		this.unnamed = { kind: 'osrt', text: '(another name)', detail: '' };
		this.levels = data.levels.map((level) => ({
			cell: level.cell_ns,
			rows: level.rows,
			tracks: new Map(level.tracks.map(([lane, row, text]) => [`${lane}/${row}`, text])),
		}));
		this.processes = this.lanesOf(data);
		this.lanesLeftOut = data.lanes_left_out;
	}

	lanesOf(data) {
		const names = new Map(data.names_of_processes.map(([process, pid, name]) => [process, { pid, name }]));
		const depths = new Map();
		for (const [lane, row] of data.levels.length ? data.levels[0].tracks : [])
			depths.set(lane, Math.max(depths.get(lane) || 0, row + 1));
		const processes = new Map();
		for (const [id, process, tid, what, device, stream, thread] of data.lanes) {
			if (!depths.has(id)) continue;
			if (!processes.has(process)) {
				const known = names.get(process) || { pid: process % 0x1000000, name: '' };
				processes.set(process, { process, pid: known.pid, name: known.name, lanes: [], open: true });
			}
			processes.get(process).lanes.push({
				id,
				tid,
				what,
				device,
				stream,
				thread,
				rows: depths.get(id),
				title: laneTitle(what, tid, device, stream, thread),
			});
		}
		return [...processes.values()];
	}

	// The coarsest level that shows everything a pixel of so many ns can show.
	levelFor(ns) {
		let best = this.levels[0];
		for (const level of this.levels) if (level.cell <= ns) best = level;
		return best;
	}

	track(level, lane, row) {
		const key = `${lane}/${row}`,
			held = level.tracks.get(key);
		if (typeof held !== 'string') return held;
		const made = decode(held);
		level.tracks.set(key, made);
		return made;
	}

	name(id) {
		return this.names.get(id) || this.unnamed;
	}

	// The first row that may reach into what begins at `ns`: rows of a track overlap at most with the next but one.
	first(track, ns) {
		return Math.max(0, bisectLeft(track.start, ns) - 3);
	}

	// The rows of the finest level whose name or detail has the text in it, as { lane, row, index }; at most `most`.
	search(text, most) {
		const wanted = text.toLowerCase(),
			ids = new Set(),
			found = [];
		for (const [id, name] of this.names)
			if (name.text.toLowerCase().includes(wanted) || name.detail.toLowerCase().includes(wanted)) ids.add(id);
		for (const process of ids.size ? this.processes : []) {
			for (const lane of process.lanes) {
				for (let row = 0; row < lane.rows; row++) {
					const track = this.track(this.levels[0], lane.id, row);
					for (let i = 0; track && i < track.start.length && found.length < most; i++) {
						if (ids.has(track.name[i]))
							found.push({
								process,
								lane,
								row,
								start: track.start[i],
								length: track.length[i],
								count: track.count[i],
								busy: track.busy[i],
								name: this.name(track.name[i]),
							});
					}
				}
			}
		}
		return { ids, found: found.sort((a, b) => a.start - b.start) };
	}
}

function laneTitle(what, tid, device, stream, thread) {
	if (what === 'gpu') return `GPU ${device}, stream ${stream}`;
	if (what === 'nvtx' && !tid) return 'NVTX start/end';
	const of = thread ? `${thread} (${tid})` : `thread ${tid}`;
	return `${of}: ${{ nvtx: 'NVTX', api: 'CUDA API', osrt: 'OS runtime', mpi: 'MPI' }[what] || what}`;
}

const HUES = {
	kernel: 150,
	memcpy: 30,
	memset: 52,
	graph: 110,
	api: 215,
	nvtx: 275,
	lock: 0,
	wait: 340,
	io: 190,
	net: 170,
	osrt: 225,
	mpi: 300,
};
export const KINDS = {
	kernel: 'kernels',
	memcpy: 'copies',
	memset: 'memory sets',
	graph: 'CUDA graphs',
	api: 'CUDA API',
	nvtx: 'NVTX',
	lock: 'locks',
	wait: 'waits',
	io: 'files',
	net: 'network',
	osrt: 'other calls',
	mpi: 'MPI',
};

// A colour of its kind for each name.
export function colourOf(name) {
	if (!name.colour) {
		let hash = 0;
		for (let i = 0; i < name.text.length; i++) hash = (hash * 31 + name.text.charCodeAt(i)) | 0;
		const spread = name.kind === 'nvtx' ? 50 : 16,
			dull = name.kind === 'osrt' ? 18 : name.kind === 'wait' ? 42 : 55;
		const hue = (HUES[name.kind] ?? 225) + ((hash >>> 3) % spread) - spread / 2;
		name.colour = `hsl(${hue} ${dull}% ${62 + ((hash >>> 11) % 12)}%)`;
	}
	return name.colour;
}
export function colourOfKind(kind) {
	return `hsl(${HUES[kind] ?? 225} ${kind === 'osrt' ? 18 : kind === 'wait' ? 42 : 55}% 66%)`;
}
