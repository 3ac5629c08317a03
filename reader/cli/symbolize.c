/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize.c - `trace symbolize`: stores the names of all callchain addresses in the report.
 */
#include <inttypes.h>

#include "reader/cli/base/change.h"
#include "reader/cli/base/options.h"
#include "reader/symbols/symbolize.h"

static void print_tally(const char *path, const struct symbolize_tally *t)
{
	uint64_t shown = 0;
	printf("%s: %" PRIu64 " addresses: %" PRIu64 " resolved, %" PRIu64 " not resolved, %" PRIu64
	       " already stored\n",
		path, t->addresses, t->resolved, t->unresolved, t->known);
	for (uint32_t i = 0; i < SYMBOLIZE_REASONS && t->reasons[i].reason; i++) {
		printf("  %" PRIu64 ": %s\n", t->reasons[i].count, t->reasons[i].reason);
		shown += t->reasons[i].count;
	}
	if (shown < t->unresolved)
		printf("  %" PRIu64 ": for other reasons\n", t->unresolved - shown);
}

static int names_add(struct change *g, const char *symbol_path)
{
	struct symbols symbols;
	struct symbolize_tally tally;
	symbols_init(&symbols, &g->contents, symbol_path);
	int error = symbolize(&symbols, &g->append, &tally);
	int status = error ? change_failed(g, "names", error) : change_commit(g, "names");
	if (!status) {
		print_tally(g->r.path, &tally);
		status = cli_finish(stdout, "standard output");
	}
	symbols_release(&symbols);
	return status;
}

static int symbolize_file(const struct options *o, const char *file, void *user)
{
	struct change g;
	(void)user;
	int status = change_open(&g, file, file, o->value[OPT_symbolize_no_wait]);
	if (!status)
		status = names_add(&g, o->value[OPT_symbolize_symbol_path]);
	change_close(&g);
	return status;
}

int command_symbolize(const struct options *o)
{
	return option_files(o, symbolize_file, NULL);
}
