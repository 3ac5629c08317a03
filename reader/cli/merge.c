/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - `trace merge`: one report from those of several ranks or hosts. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "reader/cli/base/input.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/output.h"
#include "reader/cli/commands.h"
#include "reader/merge/merge.h"

struct merging {
	const struct options *o;
	struct merge m;
	bool no_wait;
};

/* Do a step with each report, which is open meanwhile. Returns an exit status. */
static int each_report(struct merging *g,
	int (*step)(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause))
{
	for (int i = 0; i < g->o->argc; i++) {
		struct cli_report r;
		const char *cause = NULL;
		if (cli_open(&r, g->o->argv[i], g->no_wait))
			return STATUS_FAILED;
		const int error = step(g, (uint32_t)i, &r, &cause);
		if (error == -EBADMSG)
			cli_error("cannot merge '%s': %s", g->o->argv[i],
				cause ? cause : "it is damaged");
		else if (error)
			cli_error("cannot merge '%s': %s", g->o->argv[i], strerror(-error));
		cli_close(&r);
		if (error)
			return STATUS_FAILED;
	}
	g->no_wait = true; /* the writers have finished, or are not waited for */
	return STATUS_OK;
}

static int peek(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	return merge_peek(&g->m, &r->report, g->o->argv[i], ret_cause);
}

static int survey(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	(void)i;
	return merge_survey(&g->m, &r->report, ret_cause);
}

static int copy(struct merging *g, uint32_t i, struct cli_report *r, const char **ret_cause)
{
	return merge_copy(&g->m, i, &r->report, ret_cause);
}

static uint32_t groups_count(const struct hosts *h)
{
	uint32_t groups = 0;
	for (uint32_t i = 0; i < h->count; i++)
		groups += h->rows[i].group == i;
	return groups;
}

/* Note what is known of the clocks, and whether something is missing. */
static void notes_print(const struct merge *m)
{
	const uint32_t groups = groups_count(&m->hosts);
	uint32_t incomplete = 0;
	for (uint32_t i = 0; i < m->count; i++)
		incomplete += !m->inputs[i].complete;
	if (groups > 1)
		cli_note(
			"the clocks of %" PRIu32 " hosts are in %" PRIu32
			" groups, between which there is no message of MPI: they are placed by the "
			"wall clock, whose error is not known",
			m->hosts.count, groups);
	if (incomplete)
		cli_note("%" PRIu32 " of %" PRIu32 " reports are not complete", incomplete,
			m->count);
}

static int merge_to(struct merging *g, const char *name, bool overwrite)
{
	struct cli_output out;
	if (!cli_output_open(&out, name, overwrite))
		return STATUS_FAILED;
	int error = merge_begin(&g->m, out.file);
	int status = error ? STATUS_OK : each_report(g, copy);
	if (!error && status == STATUS_OK)
		error = merge_end(&g->m);
	if (error) {
		cli_write_failed(name, error, strerror(-error));
		status = STATUS_FAILED;
	}
	status = cli_output_close(&out, name, overwrite, status);
	if (status == STATUS_OK)
		notes_print(&g->m);
	return status;
}

int command_merge(const struct options *o)
{
	struct merging g = {.o = o, .m.append.fd = -1, .no_wait = o->value[OPT_merge_no_wait]};
	const char *name = o->value[OPT_merge_output];
	if (!o->argc)
		cli_error("no FILE given; see 'trace help merge'");
	else if (!name)
		cli_error("no output file given; use --output FILE");
	if (!o->argc || !name || cli_output_is_input(o, name))
		return STATUS_FAILED;
	int status = each_report(&g, peek);
	if (status == STATUS_OK)
		status = each_report(&g, survey);
	const int error = status == STATUS_OK ? merge_align(&g.m) : 0;
	if (error) {
		cli_error("cannot align the clocks: %s", strerror(-error));
		status = STATUS_FAILED;
	}
	if (status == STATUS_OK)
		status = merge_to(&g, name, option_is(o, OPT_merge_force_overwrite, "true"));
	merge_release(&g.m);
	return status;
}
