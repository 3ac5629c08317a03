// SPDX-License-Identifier: Apache-2.0
// The timeline's data: tracks of processes, and levels of detail whose rows are decoded on first use. A track has
// several rows if its events overlap.
import { bisectLeft } from 'd3-array';
import { Details } from './details.js';
import { isBusy, STATES } from './states.js';

// Decode a row of a track into typed arrays of equal length, in order of start. A `count` above 1 is a merged event:
// several events shown as one, named after the longest. `taken` is the sum of their times, and `busy` the part of it
// that is not spent waiting.
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
		taken = [],
		busy = [];
	for (let last = 0; at < end; ) {
		last += number();
		const twice = number(),
			several = twice % 2;
		start.push(last);
		length.push((twice - several) / 2);
		name.push(number());
		count.push(several ? number() : 1);
		taken.push(several ? number() : (twice - several) / 2);
		busy.push(several ? number() : -1);
	}
	return {
		start: Float64Array.from(start),
		length: Float64Array.from(length),
		name: Uint32Array.from(name),
		count: Float64Array.from(count),
		taken: Float64Array.from(taken),
		busy: Float64Array.from(busy),
	};
}

export class Timeline {
	// api: the name of the GPU API, such as CUDA. ranges: what the ranges are, NVTX unless a profiler has others.
	constructor(data, api = 'CUDA', ranges = 'NVTX') {
		this.api = api;
		this.ranges = ranges;
		this.kinds = { ...KINDS, nvtx: ranges, graph: `${api} graphs`, api: `${api} API`, sync: `${api} calls that wait` };
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
			trackRows: new Map(level.track_rows.map(([track, row, text]) => [`${track}/${row}`, text])),
		}));
		this.lifetimes = new Map(data.lifetimes.map(([process, tid, start, end]) => [`${process}/${tid}`, { start, end }]));
		this.processes = this.tracksOf(data);
		this.tracksLeftOut = data.tracks_left_out;
		this.details = new Details(data.details, this);
	}

	tracksOf(data) {
		const { api, ranges } = this;
		const names = new Map(
			data.names_of_processes.map(([process, pid, name, parent]) => [process, { pid, name, parent }]),
		);
		const depths = new Map();
		for (const [track, row] of data.levels.length ? data.levels[0].track_rows : [])
			depths.set(track, Math.max(depths.get(track) || 0, row + 1));
		const processes = new Map();
		const processOf = (process) => {
			if (!processes.has(process)) {
				const known = names.get(process) || { pid: process % 0x1000000, name: '' };
				processes.set(process, {
					process,
					pid: known.pid,
					name: known.name,
					tracks: [],
					open: true,
					lifetime: this.lifetimes.get(`${process}/0`),
				});
			}
			return processes.get(process);
		};
		for (const [id, process, tid, what, device, stream, thread] of data.tracks) {
			if (!depths.has(id)) continue;
			const title = trackTitle(what, tid, device, stream, thread, api, ranges);
			processOf(process).tracks.push({ id, tid, what, device, stream, thread, rows: depths.get(id), title });
		}
		// The lifetime of a thread is drawn behind its calls; a thread without a recorded call has a track of its own.
		for (const [process, tid, , , thread] of data.lifetimes) {
			const { tracks } = processOf(process),
				lifetime = this.lifetimes.get(`${process}/${tid}`);
			if (!tid) continue;
			const own = tracks.filter((track) => track.tid === tid),
				bearer = own.find((track) => track.what === 'osrt') || own[own.length - 1];
			if (bearer) bearer.lifetime = lifetime;
			else {
				const title = trackTitle('alive', tid, 0, 0, thread);
				tracks.push({ id: `alive ${tid}`, tid, what: 'alive', thread, rows: 1, title, lifetime });
			}
		}
		for (const each of processes.values()) {
			const known = names.get(each.process);
			each.parent = known && known.parent ? processes.get(known.parent) : undefined;
		}
		return treeOf([...processes.values()]);
	}

	// Return the time around `ns` in which a thread lived and was in no recorded call; null if there is none.
	gap(process, track, ns) {
		if (!track.lifetime || ns < track.lifetime.start || ns > track.lifetime.end) return null;
		let { start, end } = track.lifetime;
		for (const each of process.tracks.filter((other) => other.tid === track.tid && CALLS.has(other.what))) {
			const events = this.rowOf(this.levels[0], each.id, 0);
			for (let i = events ? this.first(events, ns) : 0; events && i < events.start.length; i++) {
				const until = events.start[i] + events.length[i];
				if (events.start[i] > ns) {
					end = Math.min(end, events.start[i]);
					break;
				}
				if (until >= ns) return null;
				start = Math.max(start, until);
			}
		}
		return { start, length: end - start };
	}

	// Return the coarsest level whose cells are not wider than a pixel of `ns`.
	levelFor(ns) {
		let best = this.levels[0];
		for (const level of this.levels) if (level.cell <= ns) best = level;
		return best;
	}

	rowOf(level, track, row) {
		const key = `${track}/${row}`,
			held = level.trackRows.get(key);
		if (typeof held !== 'string') return held;
		const made = decode(held);
		level.trackRows.set(key, made);
		return made;
	}

	// Return an event of a row as an object.
	event(events, i, place) {
		const name = this.name(events.name[i]);
		return {
			...place,
			id: events.name[i],
			start: events.start[i],
			length: events.length[i],
			count: events.count[i],
			taken: events.taken[i],
			busy: events.busy[i] < 0 ? (isBusy(name.kind) ? events.length[i] : 0) : events.busy[i],
			name,
		};
	}

	// Return the names of the NVTX ranges of an event's thread around it, the outermost first.
	nvtxPath(hit) {
		const found = [];
		for (const track of hit.process.tracks) {
			if (track.what !== 'nvtx' || track.tid !== hit.track.tid || !track.tid) continue;
			for (let row = 0; row < track.rows; row++) {
				const events = this.rowOf(this.levels[0], track.id, row);
				for (
					let i = events ? this.first(events, hit.start) : 0;
					events && i < events.start.length && events.start[i] <= hit.start;
					i++
				) {
					const end = events.start[i] + events.length[i],
						same = track === hit.track && row === hit.row && events.start[i] === hit.start;
					if (events.count[i] === 1 && end >= hit.start + hit.length && events.length[i] && !same)
						found.push([events.start[i], -end, this.name(events.name[i]).text]);
				}
			}
		}
		return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((each) => each[2]);
	}

	name(id) {
		return this.names.get(id) || this.unnamed;
	}

	// Return the index of the first event that may extend past `ns`: it overlaps at most the next two events of its row.
	first(events, ns) {
		return Math.max(0, bisectLeft(events.start, ns) - 3);
	}

	// Return true if an event of a row overlaps the time from `from` to `to`.
	reaches(events, from, to) {
		for (let i = events ? this.first(events, from) : 0; events && i < events.start.length && events.start[i] <= to; i++)
			if (events.start[i] + events.length[i] >= from) return true;
		return false;
	}

	// Find the events of the finest level whose name or detail contains the text, at most `most`, in order of start.
	// A state's detail is the call that is found beside it.
	// `rows` has the same events as columns, by track and row.
	search(text, most) {
		const wanted = text.toLowerCase(),
			ids = new Set(),
			rows = new Map(),
			found = [];
		for (const [id, name] of this.names)
			if (
				name.text.toLowerCase().includes(wanted) ||
				(!STATES.has(name.kind) && name.detail.toLowerCase().includes(wanted))
			)
				ids.add(id);
		for (const process of ids.size ? this.processes : []) {
			for (const track of process.tracks) {
				for (let row = 0; row < track.rows; row++) {
					const events = this.rowOf(this.levels[0], track.id, row);
					const some = { start: [], length: [], name: [], count: [], taken: [], busy: [] };
					for (let i = 0; events && i < events.start.length && found.length < most; i++) {
						if (!ids.has(events.name[i])) continue;
						found.push(this.event(events, i, { process, track, row }));
						for (const column of Object.keys(some)) some[column].push(events[column][i]);
					}
					if (some.start.length) rows.set(`${track.id}/${row}`, some);
				}
			}
		}
		return { ids, rows, found: found.sort((a, b) => a.start - b.start) };
	}
}

// Return processes so that children follow their parents, with `depth`, `children` and `folded`.
function treeOf(processes) {
	const of = new Map(),
		ordered = [];
	for (const process of processes) {
		if (!of.has(process.parent)) of.set(process.parent, []);
		of.get(process.parent).push(process);
	}
	const visit = (process, depth) => {
		Object.assign(process, { depth, folded: false, children: [] });
		ordered.push(process);
		for (const child of of.get(process) || []) {
			if (child.children) continue; // a hostile report: it is its own ancestor
			process.children.push(child);
			visit(child, depth + 1);
		}
	};
	for (const process of of.get(undefined) || []) visit(process, 0);
	for (const process of processes) {
		if (process.children) continue;
		process.parent = undefined;
		visit(process, 0);
	}
	return ordered;
}

const CALLS = new Set(['api', 'osrt', 'mpi']); // tracks of a thread's calls
const TITLES = {
	path: 'critical path',
	state: 'states',
	sample: 'CPU samples',
	gil: 'waits for the GIL',
	osrt: 'OS runtime',
	mpi: 'MPI',
	openmp: 'OpenMP',
	function: 'functions of libraries',
	graphics: 'graphics',
	output: 'output',
	log: 'log events',
	alive: 'no recorded call',
};

// By the number of their kind (common/schema/nccl.def).
const NCCL_KINDS = ['groups', 'collectives', 'messages', 'network', 'network steps', 'network control', 'kernels'];

function trackTitle(what, tid, device, stream, thread, api, ranges) {
	if (what === 'gpu') return `GPU ${device}, stream ${stream}`;
	if (what === 'path' && !tid) return `GPU ${device}, stream ${stream}: critical path`;
	if (what === 'memory') return `GPU ${device}, memory`;
	if (what === 'machine') return ['', `GPU ${device} by NVML`, 'network', 'CPUs of the machine'][stream];
	if (what === 'nccl') return `NCCL: ${NCCL_KINDS[stream] || 'other'}`;
	if (what === 'nvtx' && !tid) return `${ranges} start/end`;
	const of = thread ? `${thread} (${tid})` : `thread ${tid}`;
	const titles = { ...TITLES, api: `${api} API`, nvtx: ranges };
	return `${of}: ${titles[what] || what}`;
}

const HUES = {
	kernel: 150,
	memcpy: 30,
	memset: 52,
	memory: 265,
	machine: 200,
	throttled: 0,
	graph: 110,
	api: 215,
	sync: 320,
	nvtx: 275,
	lock: 0,
	wait: 340,
	io: 190,
	net: 170,
	osrt: 225,
	mpi: 300,
	openmp: 130,
	function: 165,
	nccl: 95,
	graphics: 250,
	output: 60,
	log: 80,
	gil: 20,
};
const FIXED = {
	running: 'hsl(96 45% 60%)',
	runnable: 'hsl(42 90% 62%)',
	blocked: 'hsl(205 42% 72%)',
	stopped: 'hsl(350 30% 50%)',
	unknown: 'hsl(215 6% 76%)',
	sample: 'hsl(14 75% 52%)',
	path: 'hsl(354 75% 60%)',
};
export const KINDS = {
	kernel: 'kernels',
	memcpy: 'copies',
	memset: 'memory sets',
	memory: 'GPU memory in use',
	machine: 'samples of the machine',
	throttled: 'throttled GPU',
	graph: 'graphs',
	api: 'GPU API',
	sync: 'GPU API calls that wait',
	path: 'critical path',
	nvtx: 'NVTX',
	running: 'thread running',
	runnable: 'runnable, without a CPU',
	blocked: 'blocked',
	stopped: 'stopped',
	unknown: 'state unknown',
	sample: 'CPU samples',
	gil: 'waits for the GIL',
	lock: 'locks',
	wait: 'waits',
	io: 'files',
	net: 'network',
	osrt: 'other calls',
	mpi: 'MPI',
	openmp: 'OpenMP',
	function: 'functions of libraries',
	nccl: 'NCCL',
	graphics: 'graphics',
	output: 'output',
	log: 'log events',
};

// Return the color of a name: the hue of its kind, varied by a hash of the text.
export function colorOf(name) {
	if (FIXED[name.kind]) return FIXED[name.kind];
	if (!name.color) {
		let hash = 0;
		for (let i = 0; i < name.text.length; i++) hash = (hash * 31 + name.text.charCodeAt(i)) | 0;
		const spread = name.kind === 'nvtx' ? 50 : 16,
			dull = name.kind === 'osrt' ? 18 : name.kind === 'wait' ? 42 : 55;
		const hue = (HUES[name.kind] ?? 225) + ((hash >>> 3) % spread) - spread / 2;
		name.color = `hsl(${hue} ${dull}% ${62 + ((hash >>> 11) % 12)}%)`;
	}
	return name.color;
}
export function colorOfKind(kind) {
	return FIXED[kind] || `hsl(${HUES[kind] ?? 225} ${kind === 'osrt' ? 18 : kind === 'wait' ? 42 : 55}% 66%)`;
}
