/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evented.h - evented profiles of speedscope: what each thread did over time.
 *
 * A profile has the recorded slices of a thread: calls, each below the functions of its callchain,
 * inside the push/pop NVTX ranges and calls around them. A frame is open only while a slice is in
 * progress: what a thread did between two calls was not recorded.
 *
 * Events are kept in temporary streams (temporary_stream.h). One thread; allocates.
 */
#ifndef READER_EXPORT_FLAME_EVENTED_H
#define READER_EXPORT_FLAME_EVENTED_H

#include <stdio.h>

#include "reader/base/map.h"
#include "reader/export/temporary_stream.h"
#include "reader/export/timeline/timeline.h"
#include "reader/stats/profile.h"

struct evented {
	struct timeline *timeline;
	struct profile *profile; /* its frames are used, and frames are added to it */
	uint32_t root;           /* node of the profile's tree: root of the callchains looked up */
	struct map numbers;      /* process, tid -> index in `threads` + 1 */
	struct evented_thread *threads;
	uint32_t count, capacity;
	uint64_t start_ns, end_ns; /* same origin and end for all threads */
	struct temporary_file file;
};

/* Read all items of a timeline that has been read (timeline_read()). Call it after
 * profile_order(), because it adds nodes to the tree. Both arguments must outlive `e`. Returns 0 or
 * a negative errno; release it in either case. */
int evented_read(struct evented *e, struct timeline *timeline, struct profile *profile);
void evented_release(struct evented *e);

/* Print the profiles, separated by commas: one for each thread with slices. Returns 0 or a negative
 * errno. */
int evented_print(struct evented *e, FILE *out);

#endif
