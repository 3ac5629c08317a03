// SPDX-License-Identifier: Apache-2.0
// Which kinds of events wait, and which repeat time that other events have.

// Kinds of events that wait, and kinds that wait or may wait: their time is in no sum "without waits" (in the data:
// `busy`).
export const WAITS = new Set(['lock', 'wait', 'sync', 'gil', 'blocked']);
export const WAITING = new Set([...WAITS, 'io', 'net', 'mpi', 'nvtx']);
// Kinds that describe time which other events have, too: they count in no sum.
export const STATES = new Set(['running', 'runnable', 'blocked', 'stopped', 'unknown']);
export const OVERLAYS = new Set([
	...STATES,
	'sample',
	'gil',
	'nvtx',
	'openmp',
	'function',
	'nccl',
	'output',
	'log',
	'memory',
	'path',
	'machine',
	'throttled',
]);
export const isBusy = (kind) => !WAITING.has(kind) && !OVERLAYS.has(kind);
