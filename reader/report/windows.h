/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows.h - windows of a report: the spans of time in which events were recorded.
 *
 * windows_release() frees; the struct owns all it refers to. One thread; memory is bounded by
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
	bool unfinished; /* the window was open until the report was closed */
};

struct windows {
	struct window *rows;  /* first ones in the file, each number once */
	size_t count;         /* windows in `rows` */
	uint64_t entry_count; /* Window entries in the file */
	uint64_t last; /* greatest number = number of windows, even if some entries are missing */
	uint64_t covered_ns; /* sum over the entries in the file */
};

/* Add an entry; the caller keeps the message. Returns 0, -EBADMSG or -ENOMEM. */
int windows_add(struct windows *w, const Libtrace__Window *message);
void windows_release(struct windows *w);

#endif
