/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_print.h - one event as a line of text or a JSON object; knows column kinds, not events.
 *
 * One thread per stream. Errors stay with the stream.
 */
#ifndef READER_REPORT_EVENT_PRINT_H
#define READER_REPORT_EVENT_PRINT_H

#include <stdio.h>

#include "reader/report/cursor.h"
#include "reader/symbols/symbols.h"

struct nvtx_payloads;

/* What lines are made of. */
struct event_printer {
	FILE *out;
	const struct contents *contents;
	struct symbols *symbols; /* NULL = addresses stay numbers */
	uint64_t origin_ns;      /* times are printed less this */
	struct nvtx_payloads *payloads;
};

/* "TIME PID/TID KIND COLUMN=VALUE ...": a line. */
void event_print_text(const struct event_printer *p, const struct event_row *row);

/* An object with kind, process, pid, tid and all columns: a line. */
void event_print_json(const struct event_printer *p, const struct event_row *row);

#endif
