// SPDX-License-Identifier: Apache-2.0
// Trees of callchains: built from the data of one report, or of two that are compared. A node has a value for each
// side: the time and the number of the calls whose callchain ends there.

const PYTHON_LINE = /^(.* \([^()]*):\d+\)$/; // "function (file.py:42)": a line moves when the file is edited
const CUT = '[Max depth]'; // stands for the missing outer frames of cut callchains

// What a node is; the numbers are those of reader/cli/report/page_flame.c.
export const FUNCTION = 0,
	PROCESS = 1,
	WAIT = 2,
	GPU = 3,
	STATE = 4;

const none = (sides) => Array.from({ length: sides }, () => ({ self: 0, count: 0 }));
const make = (name, sides, kind = FUNCTION) => ({ name, kind, isProcess: kind === PROCESS, sides, children: [] });

function add(to, from) {
	to.forEach((side, at) => {
		side.self += from[at].self;
		side.count += from[at].count;
	});
}

function childOf(node, name, kind) {
	let found = node.children.find((child) => child.name === name && child.isProcess === (kind === PROCESS));
	if (!found) {
		found = make(name, none(node.sides.length), kind);
		node.children.push(found);
	}
	return found;
}

// Add a node's values and everything below it to another node.
function mergeInto(to, from) {
	add(to.sides, from.sides);
	for (const child of from.children) mergeInto(childOf(to, child.name, child.kind), child);
}

// Move each cut callchain to its place among the whole callchains of its process: the only place where its outermost
// function calls the next one. Callchains with no such place, or several, stay below CUT.
function joinCut(process) {
	const cut = process.children.find((child) => child.name === CUT);
	if (!cut) return 0;
	const places = new Map();
	const note = (node) => {
		for (const child of node.children) {
			const key = `${node.name}\n${child.name}`;
			places.set(key, places.has(key) ? null : node);
			note(child);
		}
	};
	process.children.filter((child) => child !== cut).forEach(note);
	let joined = 0;
	for (const outer of cut.children) {
		outer.children = outer.children.filter((inner) => {
			const place = places.get(`${outer.name}\n${inner.name}`);
			if (!place) return true;
			mergeInto(childOf(place, inner.name, inner.kind), inner);
			joined++;
			return false;
		});
	}
	const isEmpty = (node) => !node.children.length && node.sides.every((side) => !side.self && !side.count);
	cut.children = cut.children.filter((outer) => !isEmpty(outer));
	if (isEmpty(cut)) process.children.splice(process.children.indexOf(cut), 1);
	return joined;
}

// Return the name of a function. Two reports have Python functions in common, not their lines.
const textOf = (text, sides) => (sides === 2 ? text.replace(PYTHON_LINE, '$1)') : text);

// Build the tree of one report. names: of processes, by number.
function treeOf(data, names, side, sides) {
	const texts = new Map(data.texts),
		root = make('all', none(sides)),
		nodes = [root];
	for (const [parent, id, kind, self, count] of data.nodes) {
		const name =
			kind === PROCESS ? names.get(id) || `process ${id % 0x1000000}` : textOf(texts.get(id) || '(no name)', sides);
		const node = make(name, none(sides), kind);
		node.sides[side] = { self, count };
		nodes[parent].children.push(node);
		nodes.push(node);
	}
	return root;
}

// Build the tree of one report, or the common tree of two. reports: [data, names of processes].
// Returns the root, and the number of subtrees of cut callchains that were joined with whole ones.
export function callTree(reports) {
	const trees = reports.map(([data, names], side) => treeOf(data, names, side, reports.length));
	let joined = 0;
	for (const tree of trees) for (const process of tree.children) joined += joinCut(process);
	if (trees.length === 1) return { root: trees[0], joined };
	const root = make('all', none(trees.length));
	for (const tree of trees) mergeInto(root, tree);
	return { root, joined };
}

// Return the tree of the callchains that contain a match.
export function filtered(root, matches) {
	const visit = (node, within) => {
		const inside = within || matches(node);
		const kept = make(node.name, inside ? node.sides : none(node.sides.length), node.kind);
		kept.children = node.children.map((child) => visit(child, inside)).filter(Boolean);
		return inside || kept.children.length ? kept : null;
	};
	return visit(root, false) || make(root.name, none(root.sides.length));
}

function totalOf(node) {
	const sums = none(node.sides.length);
	const visit = (each) => {
		add(sums, each.sides);
		each.children.forEach(visit);
	};
	visit(node);
	return sums;
}

// Return all callers of a function, as a tree from the function outward, and all that it calls. Where a function calls
// itself, only the outermost call counts.
export function sandwich(root, name) {
	const callers = make(name, none(root.sides.length)),
		callees = make(name, none(root.sides.length));
	const visit = (node, path) => {
		if (node.name === name && !node.isProcess) {
			mergeInto(callees, node);
			let at = callers;
			for (const caller of path) at = childOf(at, caller.name, caller.kind);
			add(at.sides, totalOf(node));
			return;
		}
		const inner = node === root ? path : [node, ...path];
		for (const child of node.children) visit(child, inner);
	};
	visit(root, []);
	return { callers, callees };
}
