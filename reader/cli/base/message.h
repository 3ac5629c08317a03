/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - messages of the commands, their exit statuses, and the end of their output.
 *
 * A message is one line on stderr, `trace: ...`. One thread.
 */
#ifndef READER_CLI_BASE_MESSAGE_H
#define READER_CLI_BASE_MESSAGE_H

#include <stdio.h>

enum exit_status { STATUS_OK = 0, STATUS_DAMAGED = 1, STATUS_FAILED = 2 };

/* Print why the command fails. The format is that of printf, without a line end. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* Print a note for the user; the command continues. The format is that of printf. */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);

/* Hold notes back until it is known whether the command fails: cli_notes_drop() discards the
 * notes held so far, cli_notes_end() prints them. */
void cli_notes_hold(void);
void cli_notes_drop(void);
void cli_notes_end(void);

/* Print a note that the file `name` was written, if stderr is a terminal: logs and mails of batch
 * jobs stay empty. */
void cli_wrote(const char *name);

/* Flush `out`, which messages call `name`, and check it for errors. Returns 0, or STATUS_FAILED
 * after a message. Prints one message per stream, and none if the reader of a pipe has gone. */
int cli_finish(FILE *out, const char *name);

/* Handle a pipe whose reader has gone (`trace dump ... | head -1`). The command ends by SIGPIPE
 * and without a message, whatever the disposition of the signal was, but only after it has removed
 * its temporary files. cli_pipes_await() makes writes to such a pipe fail; no message is printed
 * after that. cli_end_if_closed() ends the process if such a write has failed. */
void cli_pipes_await(void);
void cli_end_if_closed(void);

#endif
