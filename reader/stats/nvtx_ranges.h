/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_ranges.h - NVTX ranges of a report: sums by name, and how those of push and pop lie in each
 * other.
 *
 * nvtx_sums_read() makes the passes that exact medians need (durations.h); its memory follows the
 * number of names. nvtx_trace_read() holds every range, 56 bytes each. Ranges that were not ended
 * are left out of both. One thread; allocates.
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

#define NVTX_GROUPS_MAX (1u << 20) /* bounds what a hostile report can make us hold */

enum nvtx_style { NVTX_PUSH_POP, NVTX_START_END };

/* Ranges of one style and name. */
struct nvtx_group {
	enum nvtx_style style;
	const char *name; /* "domain:text"; the default domain is empty */
	struct durations durations;
};

struct nvtx_sums {
	struct nvtx_group **groups; /* by total, descending, when read */
	uint32_t count, capacity;
	struct map places; /* name, style -> place in `groups` + 1, while they are read */
	struct pool texts;
	struct cursor_filter filter; /* pid, tid and name are looked at; set it behind init */
	struct name_filter names;
	uint64_t unfinished; /* left out */
};

void nvtx_sums_init(struct nvtx_sums *s);
void nvtx_sums_release(struct nvtx_sums *s);
int nvtx_sums_read(struct nvtx_sums *s, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor);

/* A range of push and pop. */
struct nvtx_range {
	uint64_t start_ns, end_ns;
	uint32_t process, tid; /* Process.id */
	uint32_t domain, text; /* Strings ids */
	uint32_t level;        /* as recorded, then: ranges of the thread around it */
	uint32_t parent;       /* 1 + place of the one around it, 0 = none */
	uint32_t children;
	uint64_t children_ns;
};

struct nvtx_trace {
	struct nvtx_range *ranges; /* by start when read */
	uint32_t count, capacity;
	struct cursor_filter filter;
	struct name_filter names;
};

void nvtx_trace_init(struct nvtx_trace *t);
void nvtx_trace_release(struct nvtx_trace *t);
int nvtx_trace_read(struct nvtx_trace *t, struct contents *c, const struct report *r,
	const struct contents_visitor *visitor);

/* "domain:text" of two Strings ids; NULL = no memory. The caller frees it. */
char *nvtx_full_name(const struct contents *c, uint32_t domain, uint32_t text);

#endif
