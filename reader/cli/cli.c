#define _GNU_SOURCE
#include "reader/cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/foreign.h"
#include "reader/cli/select.h"

#define PROBLEMS_SHOWN 20u
#define PROGRESS_BYTES (32u << 20)

static volatile sig_atomic_t pipe_signal; /* some pipe had no reader any more */
static bool pipe_failed;                  /* what was to be printed did not get there */

static void pipe_note(int number)
{
	pipe_signal = number;
}

void cli_pipes_await(void)
{
	const struct sigaction action = {.sa_handler = pipe_note, .sa_flags = SA_RESTART};
	sigaction(SIGPIPE, &action, NULL);
}

/* Is it standard output? Libraries have connections of their own. */
static bool output_is_closed(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	return pipe_signal && poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

void cli_end_if_closed(void)
{
	if (!pipe_failed && !output_is_closed())
		return;
	signal(SIGPIPE, SIG_DFL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGPIPE);
}

/* One write for a message, or it mixes with what others write to the same place. */
static void message(const char *format, va_list arguments)
{
	char *text = NULL;
	fflush(stdout);
	if (output_is_closed())
		return;
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	dprintf(STDERR_FILENO, "trace: %s\n", text ? text : "out of memory");
	free(text);
}

void cli_error(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

void cli_note(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments);
	va_end(arguments);
}

int cli_open(struct cli_report *r, const char *path, bool no_wait)
{
	const char *cause = NULL;
	*r = (struct cli_report){.path = path, .next_shown = PROGRESS_BYTES};
	int error = report_open(&r->report, path, no_wait ? 0 : REPORT_WAIT_NS, &cause);
	if (error == -EISDIR || (error == -EBADMSG && !strcmp(cause, REPORT_IS_NONE)))
		foreign_tell(path);
	else if (error == -EBADMSG)
		cli_error("'%s': %s at offset 0", path, cause);
	else if (error == -ESPIPE)
		cli_error("'%s': not a regular file", path);
	else if (error)
		cli_error("cannot open '%s': %s%s%s", path, cause ? cause : "", cause ? ": " : "",
			strerror(-error));
	else if (r->report.unfinished)
		cli_note("'%s' is still being written: reading what is there", path);
	return error ? STATUS_FAILED : STATUS_OK;
}

static void note_unplaced(const struct cli_report *r)
{
	static const char *told;
	uint64_t unplaced = nvtx_deferred_unplaced(&r->deferred);
	if (!unplaced || told == r->path)
		return;
	told = r->path;
	cli_note("'%s': %" PRIu64 " of %" PRIu64
		 " deferred NVTX events have no place in time and are left out: see 'trace info'",
		r->path, unplaced, unplaced + r->deferred.placed);
}

int cli_open_events(struct cli_report *r, const char *path, bool no_wait)
{
	if (cli_open(r, path, no_wait))
		return STATUS_FAILED;
	int error = nvtx_deferred_read(&r->deferred, &r->report, true);
	note_unplaced(r);
	int status = error ? cli_failed(r, error) : select_report(r);
	if (status)
		cli_close(r);
	return status;
}

void cli_close(struct cli_report *r)
{
	select_tell(r);
	selection_release(&r->selection);
	nvtx_deferred_release(&r->deferred);
	report_close(&r->report);
}

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
		cli_error("'%s': more problems are not shown", r->path);
}

int cli_progress(void *user, const struct report_block *block)
{
	struct cli_report *r = user;
	uint64_t size = r->report.source.size;
	if (block->offset < r->done_bytes) /* another pass */
		r->next_shown = PROGRESS_BYTES;
	r->done_bytes = block->offset;
	if (block->offset < r->next_shown || size < 4ull * PROGRESS_BYTES || !isatty(STDERR_FILENO))
		return 0;
	r->next_shown = block->offset + PROGRESS_BYTES;
	fprintf(stderr, "\rreading: %3.0f %%", 100.0 * (double)block->offset / (double)size);
	return 0;
}

void cli_progress_end(const struct cli_report *r)
{
	if (r->report.source.size >= 4ull * PROGRESS_BYTES && isatty(STDERR_FILENO))
		fputs("\r                \r", stderr);
}

void cli_note_cut_off(const struct cli_report *r, const struct contents *c)
{
	if (!r->report.unfinished && (c->tally.torn_bytes || processes_unended(&c->processes)))
		cli_note("'%s' lacks its end: this is not all that happened; see 'trace info'",
			r->path);
}

int cli_failed(const struct cli_report *r, int error)
{
	cli_error("cannot read '%s': %s", r->path, strerror(-error));
	return STATUS_FAILED;
}

int cli_finish(FILE *out, const char *name)
{
	static bool told;
	bool failed = ferror(out);
	int cause = failed ? errno : 0; /* of the write that failed */
	errno = 0;
	if (!fflush(out) && !failed && !ferror(out))
		return STATUS_OK;
	cause = errno ? errno : cause;
	pipe_failed |= cause == EPIPE;
	if (cause != EPIPE && !(told && out == stdout))
		cli_error("cannot write '%s': %s", name, cause ? strerror(cause) : "write error");
	told |= out == stdout;
	return STATUS_FAILED;
}
