/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - the times in which events were recorded, where that was not always.
 *
 * windows_release() frees; everything in it is its own. One thread; memory is bounded by
 * WINDOWS_KEPT.
 */
#ifndef READER_REPORT_WINDOWS_H
#define READER_REPORT_WINDOWS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "report.pb-c.h"

#define WINDOWS_KEPT 1000u

struct window {
	uint64_t number, start_ns, end_ns;
	bool unfinished; /* it lasted until the report was closed */
};

struct windows {
	struct window *rows; /* the first ones told, each number once */
	size_t count;        /* of rows */
	uint64_t told;       /* by the file */
	uint64_t last;       /* greatest number: there were so many, also where not all are told */
	uint64_t covered_ns; /* sum of those told */
};

/* Takes an entry in; the message stays the caller's. 0, -EBADMSG, -ENOMEM. */
int windows_add(struct windows *w, const Libtrace__Window *message);
void windows_release(struct windows *w);

#endif
