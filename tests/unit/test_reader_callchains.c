/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_callchains.c - tests of callchain nodes and modules as a report stores them. */
#include <stdlib.h>
#include <string.h>

#include "reader/report/contents.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

static struct contents contents;
static unsigned problems;
static char last_problem[256];
static enum callchain_view view; /* of the reports that are read back */

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	(void)user;
	(void)offset;
	problems++;
	snprintf(last_problem, sizeof(last_problem), "%s", cause);
}

/* Read the report that was built, and start a new one. */
static struct process *read_back(struct make_report *m)
{
	struct report report;
	const char *cause;
	const struct contents_visitor visitor = {NULL, NULL, NULL, note_problem};
	make_block_end(m);
	problems = 0;
	*last_problem = 0;
	contents_init(&contents);
	if (report_open_memory(&report, m->data, m->bytes, &cause))
		abort();
	report.callchains = view;
	if (contents_read(&contents, &report, &visitor))
		abort();
	report_close(&report);
	return process_get(&contents.processes, 1);
}

static void done(struct make_report *m)
{
	contents_release(&contents);
	make_release(m);
}

static void chain_leads_outwards(void)
{
	struct make_report m;
	const uint32_t parents[] = {0, 1, 2, 1};
	const uint64_t addresses[] = {0x400100, 0x7fff00000200, 0x300, 0xffffffffff600001};
	uint64_t chain[8];
	bool whole;
	make_init(&m, false);
	make_callchains(&m, 1, 1, 4, parents, addresses);
	struct process *p = read_back(&m);
	uint32_t count = callchain_addresses(&p->callchains, 3, chain, 8, &whole);
	check(problems == 0 && count == 3 && whole, "a chain has its three frames");
	check(chain[0] == 0x300 && chain[1] == 0x7fff00000200 && chain[2] == 0x400100,
		"the innermost frame comes first");
	count = callchain_addresses(&p->callchains, 4, chain, 8, &whole);
	check(count == 2 && chain[0] == 0xffffffffff600001 && chain[1] == 0x400100,
		"chains share their outer frames");
	count = callchain_addresses(&p->callchains, 3, chain, 2, &whole);
	check(count == 2 && !whole, "a chain that is longer than the buffer is cut, and flagged");
	check(callchain_addresses(&p->callchains, 0, chain, 8, &whole) == 0,
		"node 0 means that there is no chain");
	check(callchain_addresses(&p->callchains, 5, chain, 8, &whole) == 0 && !whole,
		"an unknown node has no frames");
	done(&m);
}

static void nodes_reported_again(void)
{
	struct make_report m;
	const uint32_t parents[] = {0, 1, 2, 3};
	const uint64_t addresses[] = {10, 20, 30, 40}, other[] = {10, 21, 30, 40};
	uint32_t parent;
	uint64_t address;
	make_init(&m, false);
	make_callchains(&m, 1, 1, 3, parents, addresses);
	make_callchains(&m, 1, 2, 3, parents + 1, addresses + 1);
	struct process *p = read_back(&m);
	check(problems == 0 && p->callchains.count == 1,
		"nodes may be repeated, with further ones after them");
	check(callchain_node(&p->callchains, 4, &parent, &address) && parent == 3 && address == 40,
		"nodes after repeated ones are known");
	done(&m);
	make_init(&m, false);
	make_callchains(&m, 1, 1, 4, parents, addresses);
	make_callchains(&m, 1, 1, 4, parents, other);
	p = read_back(&m);
	check(problems == 1 && strstr(last_problem, "two different callchain nodes"),
		"a repeated node with another content is damage");
	check(callchain_node(&p->callchains, 2, &parent, &address) && address == 20,
		"the first definition of a node holds");
	done(&m);
}

static void holes_are_kept(void)
{
	struct make_report m;
	const uint32_t parents[] = {0, 0, 0}, late[] = {2, 20};
	const uint64_t addresses[] = {1, 2, 3}, late_addresses[] = {8, 9};
	uint64_t chain[8], address;
	uint32_t parent;
	bool whole;
	make_init(&m, false);
	make_callchains(&m, 1, 20, 2, late, late_addresses);
	make_callchains(&m, 1, 1, 3, parents, addresses);
	make_callchains(&m, 1, 4000000000u, 1, late, late_addresses);
	struct process *p = read_back(&m);
	check(problems == 0 && p->callchains.count == 3, "lost blocks leave holes between nodes");
	check(callchain_addresses(&p->callchains, 21, chain, 8, &whole) == 3 && whole &&
			chain[2] == 2,
		"chains of nodes after a hole are found");
	check(!callchain_node(&p->callchains, 4, &parent, &address) &&
			!callchain_node(&p->callchains, 22, &parent, &address),
		"nodes of a hole are unknown");
	done(&m);
	/* the hole is filled: 4 ... 19, then 3 ... 21 once more */
	uint32_t some[19];
	uint64_t places[19];
	for (uint32_t i = 0; i < 19; i++) {
		some[i] = i < 17 ? 0 : i == 17 ? 2 : 20;
		places[i] = i < 17 ? 3 + i : i == 17 ? 8 : 9;
	}
	make_init(&m, false);
	make_callchains(&m, 1, 20, 2, late, late_addresses);
	make_callchains(&m, 1, 1, 3, parents, addresses);
	make_callchains(&m, 1, 3, 19, some, places);
	p = read_back(&m);
	check(problems == 0 && callchain_node(&p->callchains, 19, &parent, &address) &&
			address == 19 && callchain_node(&p->callchains, 21, &parent, &address) &&
			address == 9,
		"nodes of a hole can be defined later");
	done(&m);
}

/* Check a report in which nodes 2 and 3 follow node 4: a thread was still storing them. */
static void nodes_reported_late(void)
{
	struct make_report m;
	const uint32_t early[] = {0, 0, 0, 1}, parents[] = {0, 1, 2, 1};
	const uint64_t before[] = {10, 0, 0, 40}, part[] = {10, 0, 30, 40},
		       addresses[] = {10, 20, 30, 40};
	uint32_t parent;
	uint64_t address;
	make_init(&m, false);
	make_callchains(&m, 1, 1, 4, early, before);
	make_callchains(&m, 1, 2, 3, (const uint32_t[]){0, 2, 1}, part + 1);
	make_callchains(&m, 1, 2, 3, parents + 1, addresses + 1);
	struct process *p = read_back(&m);
	check(problems == 0 && callchain_node(&p->callchains, 2, &parent, &address) &&
			parent == 1 && address == 20 &&
			callchain_node(&p->callchains, 3, &parent, &address) && parent == 2 &&
			address == 30,
		"a node that was written before it was stored is replaced by its later definition");
	done(&m);
}

static void cycles_are_damage(void)
{
	static const struct {
		uint32_t first_id, parent;
	} bad[] = {{5, 5}, {5, 6}, {1, 4000000000u}, {0, 0}, {UINT32_MAX, 0}};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct make_report m;
		const uint64_t address = 1;
		make_init(&m, false);
		make_callchains(&m, 1, bad[i].first_id, 1, &bad[i].parent, &address);
		struct process *p = read_back(&m);
		check(problems == 1 && !p->callchains.count, "node %u with parent %u is damage: %s",
			bad[i].first_id, bad[i].parent, last_problem);
		done(&m);
	}
}

static const struct module *find(struct process *p, uint64_t address, uint64_t ns)
{
	return module_map_find(&p->modules, address, ns);
}

static void module_by_time(void)
{
	struct make_report m;
	make_init(&m, false);
	make_module(&m, 1, 300, 0x2000, 0x4000, 0x2000, "/lib/b.so", "bb");
	make_module(&m, 1, 100, 0x1000, 0x3000, 0x1000, "/lib/a.so", "aa");
	make_module_end(&m, 1, 200, 0x1000);
	make_module(&m, 1, 500, 0x1000, 0x1800, 0x1000, "/lib/c.so", "");
	struct process *p = read_back(&m);
	const struct module *a = find(p, 0x2800, 150), *b = find(p, 0x2800, 300);
	check(a && a->begin == 0x1000 && b && b->begin == 0x2000,
		"an address belongs to the module that was loaded at that time");
	check(find(p, 0x2800, 250) == b, "between two modules an address belongs to the next one");
	check(find(p, 0x2800, 50) == a, "before all modules an address belongs to the first one");
	check(find(p, 0x1700, 600) && find(p, 0x1700, 600)->build_id == 0,
		"a third module at the address of the first one is found");
	check(!find(p, 0x1900, 600) && !find(p, 0xfff, 150) && !find(p, 0x4000, 150),
		"an address outside of all modules has none");
	check(module_map_is_reused(&p->modules), "reused addresses are noticed");
	unsigned count = 0;
	for (const struct module *each = NULL; (each = module_map_each(&p->modules, 0x2800, each));)
		count++;
	check(count == 2, "all modules that were ever at an address are found: %u", count);
	done(&m);
}

static void module_again_and_again(void)
{
	struct make_report m;
	make_init(&m, false);
	const uint32_t path = make_string(&m, "/lib/plugin.so");
	enum { ROUNDS = 1000 };
	int64_t loads[ROUNDS][6], ends[ROUNDS][2];
	for (int i = 0; i < ROUNDS; i++) {
		const int64_t load[] = {1000 + 10 * i, 0x1000, 0x2000, 0x1000, path, 0};
		memcpy(loads[i], load, sizeof(load));
		ends[i][0] = 1005 + 10 * i;
		ends[i][1] = 0x1000;
	}
	make_batch(&m, KIND_MODULE_UNLOAD, 1, 7, ROUNDS, 2, ends[0]);
	make_batch(&m, KIND_MODULE_LOAD, 1, 7, ROUNDS, 6, loads[0]);
	struct process *p = read_back(&m);
	check(find(p, 0x1500, 3000) != NULL && !find(p, 0x1500, 1000000),
		"a file that was loaded %d times is found while it is loaded", ROUNDS);
	check(p->modules.count == 1 && !module_map_is_reused(&p->modules),
		"a file that is loaded again is one module");
	done(&m);
	make_init(&m, false);
	make_module(&m, 1, 300, 0x2000, 0x2000, 0, "/lib/nothing.so", "");
	make_module(&m, 1, 300, 0x5000, 0x6000, 0, "/lib/b.so", "");
	p = read_back(&m);
	check(problems == 1 && find(p, 0x5000, 300), "a module without addresses is damage: %s",
		last_problem);
	done(&m);
}

static void modules_have_a_limit(void)
{
	struct make_report m;
	int64_t *rows = calloc(65536, 6 * sizeof(*rows));
	make_init(&m, false);
	for (int i = 0; rows && i < 65536; i++) {
		rows[6 * i + 1] = 0x1000;
		rows[6 * i + 2] = 0x2000 + i;
	}
	for (int i = 0; rows && i < 17; i++)
		make_batch(&m, KIND_MODULE_LOAD, 1, 7, 65536, 6, rows);
	struct process *p = read_back(&m);
	check(problems == 1 && p->modules.count <= MODULES_MAX &&
			strstr(last_problem, "too many modules"),
		"the number of modules is limited: %s", last_problem);
	check(find(p, 0x1fff, 1) && module_map_each(&p->modules, 0x1fff, NULL),
		"lookups still work when there are too many modules");
	free(rows);
	done(&m);
}

#define PY(n) (ADDRESS_PYTHON | (n))

static bool chain_is(const struct process *p, uint32_t id, const uint64_t *wanted, uint32_t count)
{
	uint64_t chain[8];
	bool whole;
	return callchain_addresses(&p->callchains, id, chain, 8, &whole) == count && whole &&
		!memcmp(chain, wanted, count * sizeof(*chain));
}

/* Return the process with these callchains, in a view: main (1) calls Python (2, 3), which calls C
 * (4), which calls Python (5) and that C (6); 7 is another C function that main calls, 12 a Python
 * function whose caller is not in the report. */
static struct process *chains_of_two_kinds(struct make_report *m, enum callchain_view chosen)
{
	const uint32_t parents[] = {0, 1, 2, 3, 4, 5, 1};
	const uint64_t addresses[] = {0x100, PY(2), PY(3), 0x400, PY(5), 0x600, 0x700};
	const uint32_t unknown = 9;
	const uint64_t python = PY(12);
	view = chosen;
	make_init(m, false);
	make_callchains(m, 1, 1, 7, parents, addresses);
	make_callchains(m, 1, 12, 1, &unknown, &python);
	struct process *p = read_back(m);
	view = CALLCHAINS_MERGED;
	return p;
}

static void frames_are_chosen(void)
{
	struct make_report m;
	uint64_t chain[8];
	bool whole;
	struct process *p = chains_of_two_kinds(&m, CALLCHAINS_MERGED);
	const uint64_t merged[] = {0x600, PY(5), 0x400, PY(3), PY(2), 0x100};
	check(chain_is(p, 6, merged, 6), "merged: all frames");
	done(&m);

	p = chains_of_two_kinds(&m, CALLCHAINS_NATIVE);
	const uint64_t native[] = {
		0x600, CALLCHAIN_FOLDED_PYTHON, 0x400, CALLCHAIN_FOLDED_PYTHON, 0x100};
	check(chain_is(p, 6, native, 5), "native: Python frames in a row are one");
	check(chain_is(p, 3, native + 3, 2) && chain_is(p, 2, native + 3, 2),
		"native: also at the inner end");
	check(chain_is(p, 7, (const uint64_t[]){0x700, 0x100}, 2), "native: others are whole");
	check(callchain_addresses(&p->callchains, 12, chain, 8, &whole) == 1 && !whole &&
			chain[0] == CALLCHAIN_FOLDED_PYTHON,
		"native: a caller that is not in the report is missed");
	done(&m);

	p = chains_of_two_kinds(&m, CALLCHAINS_PYTHON);
	const uint64_t python[] = {PY(5), PY(3), PY(2)};
	check(chain_is(p, 6, python, 3) && chain_is(p, 5, python, 3), "python: nothing else");
	check(chain_is(p, 4, python + 1, 2), "python: the frames that called C");
	check(chain_is(p, 7, (const uint64_t[]){CALLCHAIN_NO_PYTHON}, 1) &&
			chain_is(p, 1, (const uint64_t[]){CALLCHAIN_NO_PYTHON}, 1),
		"python: a callchain without Python is one frame");
	check(callchain_addresses(&p->callchains, 12, chain, 8, &whole) == 1 && !whole &&
			chain[0] == PY(12),
		"python: a caller that is not in the report is missed");
	done(&m);
}

int main(void)
{
	frames_are_chosen();
	chain_leads_outwards();
	nodes_reported_again();
	holes_are_kept();
	nodes_reported_late();
	cycles_are_damage();
	module_by_time();
	module_again_and_again();
	modules_have_a_limit();
	return tap_done();
}
