/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - messages of the commands, their exit statuses, and the end of their output.
 *
 * Messages are one line on stderr, `trace: ...`. One thread.
 */
#ifndef READER_CLI_BASE_MESSAGE_H
#define READER_CLI_BASE_MESSAGE_H

#include <stdio.h>

enum exit_status { STATUS_OK = 0, STATUS_DAMAGED = 1, STATUS_FAILED = 2 };

/* Print why the command fails, in the format of printf. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* Print what the user should know although the command goes on. */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);

/* Flush `out`, named `name` in a message, and check it. Returns 0, or STATUS_FAILED after a
 * message: one for each stream, and none when the reader of a pipe has gone. */
int cli_finish(FILE *out, const char *name);

/*
 * A pipe whose reader has gone (`trace dump ... | head -1`) ends a command as it ends others: by
 * SIGPIPE, without a message, whatever the signal was set to; but only after temporary files are
 * removed. cli_pipes_await() makes writes to such a pipe fail, and no message is printed from
 * then on; cli_end_if_closed() ends the process if a write has failed so.
 */
void cli_pipes_await(void);
void cli_end_if_closed(void);

#endif
