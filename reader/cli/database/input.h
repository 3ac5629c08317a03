/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - opens any file that contains events, for a command that reads reports.
 *
 * A database of nsys or an XSpace is converted to a temporary report (to_report.h), an unlinked
 * file in TMPDIR (else /var/tmp). Messages are printed on stderr. One thread.
 */
#ifndef READER_CLI_DATABASE_INPUT_H
#define READER_CLI_DATABASE_INPUT_H

#include "reader/cli/base/input.h"
#include "reader/cli/database/open.h"

/* Description of a converted file. */
struct foreign_facts {
	char format[200];  /* "a database of NVIDIA Nsight Systems 2023.3.1.92, schema 3.4.0" */
	char devices[200]; /* names of the GPUs, separated by commas */
	uint64_t bytes, impossible; /* size of the file; rows left out for impossible times */
	uint64_t facts; /* events of the report that only name threads and describe devices */
};

/* Open a database or XSpace: *ret_facts describes it. Returns 0, or STATUS_FAILED after a
 * message. */
int input_open_foreign(struct cli_report *r, const char *path, struct foreign_facts *ret_facts);

/* Like cli_open_events(), also for databases and XSpaces. */
int input_open_events(struct cli_report *r, const char *path, bool no_wait);

/* Create a file without a name for a temporary report, in TMPDIR (else /var/tmp). Returns its
 * descriptor, or -1 after a message. */
int input_temporary(void);

/* Return whether SQLite finds no damage in a database; print the damage otherwise. */
bool input_is_sound(const char *path);

#endif
