/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - messages of the commands, and the end of their output.
 */
#define _GNU_SOURCE
#include "reader/cli/base/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"

static volatile sig_atomic_t pipe_signal; /* SIGPIPE: a pipe has lost its reader */
static bool pipe_failed;                  /* output was lost because a reader has gone */

static void pipe_note(int number)
{
	pipe_signal = number;
}

void cli_pipes_await(void)
{
	const struct sigaction action = {.sa_handler = pipe_note, .sa_flags = SA_RESTART};
	sigaction(SIGPIPE, &action, NULL);
}

/* Return whether standard output has lost its reader. The signal alone may be about a connection
 * of a library. */
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

/* Notes that are held back. */
static struct {
	bool on;
	char **texts;
	uint32_t count, capacity;
} held;

/* Print a line by one write(), so that it does not mix with the output of other processes. */
static void line_print(const char *text)
{
	fflush(stdout);
	if (!output_is_closed())
		dprintf(STDERR_FILENO, "trace: %s\n", text);
}

static void message(const char *format, va_list arguments, bool may_wait)
{
	char *text = NULL;
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	if (text && may_wait && held.on &&
		!array_room(&held.texts, held.count, &held.capacity, sizeof(*held.texts))) {
		held.texts[held.count++] = text;
		return;
	}
	line_print(text ? text : "out of memory");
	free(text);
}

void cli_notes_hold(void)
{
	held.on = true;
}

void cli_notes_drop(void)
{
	while (held.count)
		free(held.texts[--held.count]);
}

void cli_notes_end(void)
{
	for (uint32_t i = 0; i < held.count; i++)
		line_print(held.texts[i]);
	cli_notes_drop();
	free(held.texts);
	held.texts = NULL;
	held.capacity = 0;
	held.on = false;
}

void cli_error(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments, false);
	va_end(arguments);
}

void cli_note(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	message(format, arguments, true);
	va_end(arguments);
}

void cli_wrote(const char *name)
{
	struct stat status;
	if (isatty(STDERR_FILENO) && !stat(name, &status) && S_ISREG(status.st_mode))
		cli_note("wrote '%s', %lld bytes", name, (long long)status.st_size);
}

int cli_finish(FILE *out, const char *name)
{
	static bool was_reported;
	bool failed = ferror(out);
	int cause = failed ? errno : 0; /* error of the write that failed */
	errno = 0;
	if (!fflush(out) && !failed && !ferror(out))
		return STATUS_OK;
	cause = errno ? errno : cause;
	pipe_failed |= cause == EPIPE;
	if (cause != EPIPE && !(was_reported && out == stdout))
		cli_error("cannot write '%s': %s", name, cause ? strerror(cause) : "write error");
	was_reported |= out == stdout;
	return STATUS_FAILED;
}
