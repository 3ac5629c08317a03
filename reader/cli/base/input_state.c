/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_state.c - messages about the report that a command reads.
 */
#define _GNU_SOURCE
#include "reader/cli/base/input_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/base/message.h"

#define PROBLEMS_SHOWN 20u

void cli_problem(void *user, uint64_t offset, const char *cause)
{
	struct cli_report *r = user;
	r->problems++;
	if (r->quiet)
		return;
	if (r->problems <= PROBLEMS_SHOWN && !offset)
		cli_error("'%s': %s", r->path, cause);
	else if (r->problems <= PROBLEMS_SHOWN)
		cli_error("'%s': %s at offset %" PRIu64, r->path, cause, offset);
	else if (r->problems == PROBLEMS_SHOWN + 1)
		cli_error("'%s': further problems are not printed", r->path);
}

int cli_progress(void *user, const struct report_block *block)
{
	struct cli_report *r = user;
	uint64_t size = r->report.source.size;
	if (block->offset < r->done_bytes) /* another pass began */
		r->next_shown = INPUT_PROGRESS_BYTES;
	r->done_bytes = block->offset;
	if (block->offset < r->next_shown || size < 4ull * INPUT_PROGRESS_BYTES ||
		!isatty(STDERR_FILENO))
		return 0;
	r->next_shown = block->offset + INPUT_PROGRESS_BYTES;
	fprintf(stderr, "\rreading: %3.0f %%", 100.0 * (double)block->offset / (double)size);
	return 0;
}

void cli_progress_end(const struct cli_report *r)
{
	if (r->report.source.size >= 4ull * INPUT_PROGRESS_BYTES && isatty(STDERR_FILENO))
		fputs("\r                \r", stderr);
}

void cli_note_cut_off(const struct cli_report *r, const struct contents *c)
{
	if (!r->report.unfinished && (c->tally.torn_bytes || processes_unended(&c->processes)))
		cli_error("'%s' is truncated: events are missing; see 'trace info'", r->path);
}

int cli_failed(const struct cli_report *r, int error)
{
	cli_error("cannot read '%s': %s", r->path, strerror(-error));
	return STATUS_FAILED;
}
