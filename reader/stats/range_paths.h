/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_paths.h - push/pop ranges of NVTX around a moment of a thread, as paths of names.
 *
 * Memory: 64 bytes for each range, and the paths. One thread; allocates.
 */
#ifndef READER_STATS_RANGE_PATHS_H
#define READER_STATS_RANGE_PATHS_H

#include "reader/base/map.h"
#include "reader/stats/nvtx_ranges.h"

#define RANGE_NAMES_MAX 64u /* names of a path that are written */

/* A name below another path. */
struct range_path {
	uint32_t parent;  /* number of the path around it; 0 = none */
	const char *name; /* "domain:text"; the default domain is empty */
};

struct range_paths {
	struct contents contents;
	struct nvtx_trace trace;
	uint32_t *order;         /* indexes of the ranges, by process, thread and start */
	uint32_t *path_of;       /* number of the path of each range */
	struct range_path *rows; /* indexed by number - 1 */
	uint32_t count, capacity;
	struct map numbers; /* parent, name -> number */
	struct pool texts;
};

/* Read the ranges of a report. `visitor` as in contents.h. Returns 0 or a negative errno; release
 * it in either case. */
int range_paths_read(
	struct range_paths *p, const struct report *report, const struct contents_visitor *visitor);
void range_paths_release(struct range_paths *p);

/* Return the number of the path of the innermost range of a thread at a moment, 0 = none. Ranges of
 * several domains may overlap without nesting: then the path has those around the last one that
 * began. `process`: Process.id. */
uint32_t range_paths_find(const struct range_paths *p, uint32_t process, uint32_t tid, uint64_t ns);

/* Store the names of a path, the outermost first; of a longer path, those of the RANGE_NAMES_MAX
 * innermost ranges. Returns their number. */
uint32_t range_paths_names(
	const struct range_paths *p, uint32_t path, const char *names[RANGE_NAMES_MAX]);

#endif
