/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_ranges.h - NVTX ranges of a report: totals by name, and the nesting of push/pop ranges.
 *
 * nvtx_sums_read() makes the passes that exact medians need (durations.h); its memory grows with
 * the number of names. nvtx_trace_read() stores every range, 56 bytes each. Both leave out ranges
 * without an end. One thread; allocates.
 */
#ifndef READER_STATS_NVTX_RANGES_H
#define READER_STATS_NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/report/contents.h"
#include "reader/report/cursor.h"
#include "reader/stats/durations.h"

#define NVTX_GROUPS_MAX (1u << 20) /* bounds memory for hostile reports */

enum nvtx_style { NVTX_PUSH_POP, NVTX_START_END };

/* Ranges of one style and name. */
struct nvtx_group {
	enum nvtx_style style;
	const char *name; /* "domain:text"; the default domain is empty */
	struct durations durations;
};

struct nvtx_sums {
	struct nvtx_group **groups; /* sorted by total, descending, once read */
	uint32_t count, capacity;
	struct map indexes; /* name, style -> index in `groups` + 1, during the read */
	struct pool texts;
	struct cursor_filter filter; /* only pid, tid and name are used; set it after init */
	struct name_filter names;
	uint64_t unfinished; /* ranges left out */
};

/* Initialize; release frees the groups. */
void nvtx_sums_init(struct nvtx_sums *s);
void nvtx_sums_release(struct nvtx_sums *s);
/* Read the report into `c` and `s`. `visitor` as in contents.h. Returns 0 or a negative errno. */
int nvtx_sums_read(struct nvtx_sums *s, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor);

/* A push/pop range. */
struct nvtx_range {
	uint64_t start_ns, end_ns;
	uint32_t process, tid; /* Process.id */
	uint32_t domain, text; /* Strings ids */
	uint32_t level;  /* as recorded; once read, the number of enclosing ranges of the thread */
	uint32_t parent; /* 1 + index of the enclosing range, 0 = none */
	uint32_t children;
	uint64_t children_ns;
};

struct nvtx_trace {
	struct nvtx_range *ranges; /* sorted by start, once read */
	uint32_t count, capacity;
	struct cursor_filter filter;
	struct name_filter names;
};

/* Initialize; release frees the ranges. */
void nvtx_trace_init(struct nvtx_trace *t);
void nvtx_trace_release(struct nvtx_trace *t);
/* Read the report into `c` and `t`. `visitor` as in contents.h. Returns 0 or a negative errno. */
int nvtx_trace_read(struct nvtx_trace *t, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor);

/* Return "domain:text" of two Strings ids, which the caller frees; NULL = out of memory. */
char *nvtx_full_name(const struct contents *c, uint32_t domain, uint32_t text);

#endif
