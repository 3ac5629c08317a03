/*
 * events.h - one event as a line of text or a JSON object; knows column kinds, not events.
 *
 * One thread per stream.
 */
#ifndef READER_CLI_EVENTS_H
#define READER_CLI_EVENTS_H

#include <stdio.h>

#include "reader/cursor.h"

/* Prints all events that pass the filter, as JSON lines or text; returns 0 or a negative errno
 * (-EPIPE: `out` has failed). */
int events_print(FILE *out, const struct report *report, const struct contents_visitor *visitor,
	const struct cursor_filter *filter, bool json, bool absolute);

#endif
