/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - opening and closing the report that a command reads.
 */
#define _GNU_SOURCE
#include "reader/cli/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/base/file_kind.h"
#include "reader/cli/base/message.h"
#include "reader/cli/base/select.h"

/* A file that is read in place of a path. */
static struct {
	const char *name;
	int fd;
} instead;

void cli_open_instead(const char *name, int fd)
{
	instead.name = name;
	instead.fd = fd;
}

static int instead_open(struct report *r, const char **ret_cause)
{
	const int fd = fcntl(instead.fd, F_DUPFD_CLOEXEC, 0);
	int error = fd < 0 ? -errno : report_open_fd(r, fd, instead.name, ret_cause);
	if (error && fd >= 0)
		close(fd);
	return error;
}

int cli_open(struct cli_report *r, const char *path, bool no_wait)
{
	const char *cause = NULL;
	*r = (struct cli_report){.path = path, .next_shown = INPUT_PROGRESS_BYTES};
	int error = instead.name && !strcmp(path, instead.name)
		? instead_open(&r->report, &cause)
		: report_open(&r->report, path, no_wait ? 0 : REPORT_WAIT_NS, &cause);
	if (error == -EISDIR || (error == -EBADMSG && !strcmp(cause, REPORT_IS_NONE)))
		foreign_explain(path);
	else if (error == -EBADMSG)
		cli_error("'%s': %s at offset 0", path, cause);
	else if (error == -ESPIPE)
		cli_error("cannot read '%s': not a regular file", path);
	else if (error)
		cli_error("cannot open '%s': %s%s%s", path, cause ? cause : "", cause ? ": " : "",
			strerror(-error));
	else if (r->report.unfinished)
		cli_note("'%s' is still being written; reading what has been written so far", path);
	return error ? STATUS_FAILED : STATUS_OK;
}

static void note_unplaced(const struct cli_report *r)
{
	static const char *noted_path;
	uint64_t unplaced = nvtx_deferred_unplaced(&r->deferred);
	if (!unplaced || noted_path == r->path)
		return;
	noted_path = r->path;
	cli_note("'%s': %" PRIu64 " of %" PRIu64
		 " deferred NVTX events have no known time and are left out; see 'trace info'",
		r->path, unplaced, unplaced + r->deferred.placed);
}

/* Prepare an open report for reading events. Returns 0, or STATUS_FAILED with the report closed. */
static int events_prepare(struct cli_report *r)
{
	int error = nvtx_deferred_read(&r->deferred, &r->report, true);
	note_unplaced(r);
	int status = error ? cli_failed(r, error) : select_report(r);
	if (status)
		cli_close(r);
	return status;
}

int cli_open_events(struct cli_report *r, const char *path, bool no_wait)
{
	return cli_open(r, path, no_wait) ? STATUS_FAILED : events_prepare(r);
}

int cli_open_converted(struct cli_report *r, const char *path, int fd)
{
	const char *cause = NULL;
	*r = (struct cli_report){.path = path, .next_shown = INPUT_PROGRESS_BYTES};
	int error = report_open_fd(&r->report, fd, path, &cause);
	if (!error)
		return events_prepare(r);
	close(fd);
	return cli_failed(r, error);
}

void cli_close(struct cli_report *r)
{
	select_note_empty(r);
	selection_release(&r->selection);
	nvtx_deferred_release(&r->deferred);
	report_close(&r->report);
}
