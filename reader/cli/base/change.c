/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.c - changes to a finished report, and to copies of one.
 */
#define _GNU_SOURCE
#include "reader/cli/base/change.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/base/io.h"
#include "reader/cli/base/file_kind.h"
#include "reader/cli/base/input.h"
#include "reader/export/output.h"

#define COPY_BYTES (1u << 20)

static int note_block(void *user, const struct report_block *block)
{
	struct change *g = user;
	append_note(&g->append, block);
	return 0;
}

static void note_problem(void *user, uint64_t offset, const char *cause)
{
	struct change *g = user;
	cli_problem(&g->r, offset, cause);
}

static int open_failed(const char *path, int error, const char *cause)
{
	if (error == -EISDIR || (error == -EBADMSG && !strcmp(cause, REPORT_IS_NONE)))
		foreign_explain(path);
	else if (error == -EBADMSG)
		cli_error("'%s': %s at offset 0", path, cause);
	else if (error == -EBUSY)
		cli_error("cannot change '%s': it is still being written", path);
	else if (error == -ESPIPE)
		cli_error("cannot change '%s': not a regular file", path);
	else
		cli_error("cannot open '%s': %s", path, strerror(-error));
	return STATUS_FAILED;
}

static bool may_be_changed(const struct change *g)
{
	if (g->r.problems) {
		cli_error("cannot change '%s': it is damaged; see 'trace check'", g->r.path);
		return false;
	}
	if (!g->contents.session) {
		cli_error("cannot change '%s': it %s", g->r.path,
			g->contents.tally.torn_bytes ? "is truncated"
						     : "was not written by libtrace");
		return false;
	}
	if (g->contents.tally.torn_bytes)
		cli_note("'%s': removing the truncated last block (%" PRIu64 " bytes)", g->r.path,
			g->contents.tally.torn_bytes);
	return true;
}

int change_open(struct change *g, const char *file, const char *name, bool no_wait)
{
	*g = (struct change){.r.path = name};
	const struct contents_visitor visitor = {g, note_block, NULL, note_problem};
	const char *cause;
	contents_init(&g->contents);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of file sizes is an error like others */
	int error = append_open(&g->append, file, no_wait ? 0 : REPORT_WAIT_NS, &cause);
	if (error)
		return open_failed(name, error, cause);
	error = contents_read(&g->contents, &g->append.report, &visitor);
	if (error)
		return cli_failed(&g->r, error);
	return may_be_changed(g) ? STATUS_OK : STATUS_DAMAGED;
}

int change_failed(const struct change *g, const char *what, int error)
{
	cli_error("cannot add %s to '%s': %s", what, g->r.path, strerror(-error));
	return STATUS_FAILED;
}

int change_commit(struct change *g, const char *what)
{
	int error = append_commit(
		&g->append, g->append.report.source.size - g->contents.tally.torn_bytes);
	return error ? change_failed(g, what, error) : STATUS_OK;
}

void change_close(struct change *g)
{
	append_close(&g->append);
	contents_release(&g->contents);
}

/* ---- copies ---- */

static int copy_bytes(const struct source *from, int to)
{
	uint8_t *piece = malloc(COPY_BYTES);
	int error = piece ? 0 : -ENOMEM;
	for (uint64_t at = 0; !error && at < from->size; at += COPY_BYTES) {
		size_t bytes =
			from->size - at < COPY_BYTES ? (size_t)(from->size - at) : COPY_BYTES;
		error = source_read(from, at, piece, bytes);
		if (!error)
			error = io_write(to, piece, bytes);
	}
	free(piece);
	return error;
}

static int exists(const char *output)
{
	cli_error("'%s' exists; use '--force-overwrite true' to replace it", output);
	return STATUS_FAILED;
}

int change_copy(
	const char *report, const char *output, bool overwrite, bool no_wait, char **ret_copy)
{
	struct cli_report r;
	char *copy = NULL;
	if (!overwrite && !access(output, F_OK))
		return exists(output);
	if (cli_open(&r, report, no_wait))
		return STATUS_FAILED;
	int fd = r.report.unfinished ? -EBUSY : output_begin(output, overwrite, &copy);
	int error = fd < 0 ? fd : 0;
	if (!error)
		error = copy_bytes(&r.report.source, fd);
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	if (error == -EBUSY)
		cli_error("cannot copy '%s': it is still being written", report);
	else if (error)
		cli_error("cannot write '%s': %s", output, strerror(-error));
	if (error && fd >= 0)
		unlink(copy);
	if (error)
		free(copy);
	else
		*ret_copy = copy;
	cli_close(&r);
	return error ? STATUS_FAILED : STATUS_OK;
}

int change_copy_end(char *copy, const char *output, bool overwrite, int status)
{
	int error = status ? 0 : output_end(copy, output, overwrite);
	if (error == -EEXIST)
		status = exists(output);
	else if (error) {
		cli_error("cannot write '%s': %s", output, strerror(-error));
		status = STATUS_FAILED;
	}
	if (status)
		unlink(copy);
	free(copy);
	return status;
}
