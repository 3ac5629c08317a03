/*
 * cli.h - what the commands share: messages, opening a report and telling its problems, output.
 *
 * One thread. Messages go to stderr as one line `trace: ...`.
 */
#ifndef READER_CLI_CLI_H
#define READER_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/cli/options.h"
#include "reader/contents.h"
#include "reader/nvtx_deferred.h"
#include "reader/selection.h"

enum exit_status { STATUS_OK = 0, STATUS_DAMAGED = 1, STATUS_FAILED = 2 };

/* The commands; each returns an exit status. */
#define COMMAND(name, ...) int command_##name(const struct options *o);
#include "reader/cli/options.def"

__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);

/* What was wrong with the report at hand; the first few are printed, the rest counted. */
struct cli_report {
	struct report report;
	struct selection
		selection; /* of the report, where options ask for one; so this may not move */
	struct nvtx_deferred deferred; /* added to the report by cli_open_events() */
	const char *path;
	uint64_t problems;
	uint64_t done_bytes; /* of this pass, for the progress line */
	uint64_t next_shown;
	bool quiet;
};

/* Opens; prints why not. 0 or STATUS_FAILED. */
int cli_open(struct cli_report *r, const char *path, bool no_wait);
void cli_close(struct cli_report *r);

/* The same for those who read events: deferred ones of NVTX stand among the others, and options may
 * have selected some. What has no place in time is told. */
int cli_open_events(struct cli_report *r, const char *path, bool no_wait);

/* For contents_visitor: user is the struct cli_report; offset 0 = no place in the file. */
void cli_problem(void *user, uint64_t offset, const char *cause);
int cli_progress(void *user, const struct report_block *block);
void cli_progress_end(const struct cli_report *r);

/* After a whole pass: says when the report lacks its end, so that what is printed is not all. */
void cli_note_cut_off(const struct cli_report *r, const struct contents *c);

/* Prints the message of a pass that ended by `error`. Returns STATUS_FAILED. */
int cli_failed(const struct cli_report *r, int error);

/* Flushes and checks. Returns 0, or STATUS_FAILED after a message: one for each stream, and none
 * when the reader of a pipe has gone. */
int cli_finish(FILE *out, const char *name);

/*
 * A pipe whose reader has gone (`trace dump ... | head -1`) ends a command as it ends others: by
 * SIGPIPE, without a word, whatever the signal was set to; but not before temporary files are
 * cleared away. cli_pipes_await() makes writes to such a pipe fail, and no message is printed from
 * then on; cli_end_if_closed() ends the process, if one did.
 */
void cli_pipes_await(void);
void cli_end_if_closed(void);

#endif
