/*
 * details.c - `trace details`: the results of a report of Nsight Compute, page by page.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "reader/cli/details.h"

static int note_block(void *user, const struct report_block *block)
{
	struct details *d = user;
	const char *cause;
	int error = ncu_results_note(&d->results, block, &cause);
	if (error == -EBADMSG) {
		cli_problem(&d->r, block->offset, cause);
		error = 0;
	}
	return error;
}

static void details_problem(void *user, uint64_t offset, const char *cause)
{
	struct details *d = user;
	cli_problem(&d->r, offset, cause);
}

static int page_print(struct details *d, const char *page)
{
	if (page && !strcmp(page, "session"))
		return details_session(d);
	if (!d->results.count)
		cli_note("'%s' holds no results of kernels", d->r.path);
	return page && !strcmp(page, "raw") ? details_raw(d) : details_sections(d);
}

int command_details(const struct options *o)
{
	struct details d = {.csv = o->value[OPT_details_csv], .out = stdout};
	const struct contents_visitor visitor = {&d, note_block, NULL, details_problem};
	const char *file = option_file(o);
	if (!file || details_filter_set(&d.filter, o) ||
		cli_open(&d.r, file, o->value[OPT_details_no_wait]))
		return STATUS_FAILED;
	contents_init(&d.contents);
	ncu_results_init(&d.results, &d.r.report);
	int error = contents_read(&d.contents, &d.r.report, &visitor);
	if (!error)
		error = page_print(&d, o->value[OPT_details_page]);
	int status = error && error != -EPIPE ? cli_failed(&d.r, error)
					      : cli_finish(stdout, "standard output");
	if (!status && d.r.problems)
		status = STATUS_DAMAGED;
	ncu_results_release(&d.results);
	contents_release(&d.contents);
	cli_close(&d.r);
	details_filter_release(&d.filter);
	return status;
}
