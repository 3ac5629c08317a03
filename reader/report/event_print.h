/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_print.h - output of one event as a line of text or a JSON object; driven by column kinds,
 * not by event kinds.
 *
 * One thread per stream; errors remain set in the stream.
 */
#ifndef READER_REPORT_EVENT_PRINT_H
#define READER_REPORT_EVENT_PRINT_H

#include <stdio.h>

#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

struct nvtx_payloads;

/* Output stream, and the data that lines are built from. */
struct event_printer {
	FILE *out;
	const struct contents *contents;
	struct symbols *symbols; /* NULL = print addresses as numbers */
	uint64_t origin_ns;      /* subtracted from printed times */
	struct nvtx_payloads *payloads;
};

/* Print a line of text: "TIME PID/TID KIND COLUMN=VALUE ...", without columns of which a converted
 * file has no value. Of bytes that are not text it prints the number. */
void event_print_text(const struct event_printer *p, const struct event_row *row);

/* Print a line with a JSON object of kind, process, pid, tid and all columns, but for those of
 * which a converted file has no value. */
void event_print_json(const struct event_printer *p, const struct event_row *row);

/* Print what a program wrote as it wrote it: the bytes of a stream_write event. `streams`:
 * "stdout", "stderr" or "all". Bytes that went elsewhere (redirected) are left out. */
void event_print_output(
	const struct event_printer *p, const struct event_row *row, const char *streams);

#endif
