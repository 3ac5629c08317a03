/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exporters.h - exporters of a profile of callchains. exporters.def lists all formats.
 *
 * Exporters walk the tree depth first and do not copy it. One thread; errors remain set in the
 * stream.
 */
#ifndef READER_EXPORT_EXPORTERS_H
#define READER_EXPORT_EXPORTERS_H

#include <stdio.h>

#include "reader/export/timeline/timeline.h"
#include "reader/stats/profile.h"

/* Write one line per callchain in the format of flamegraph.pl and inferno. Returns 0 or -ENOMEM. */
int folded_write(FILE *out, struct profile *p, enum profile_weight weight);

/* Write a profile of pprof, uncompressed: a sample per thread, path of NVTX ranges (if the profile
 * has ranges) and callchain, with the number of calls and their time. Returns 0 or a negative
 * errno. */
int pprof_write(FILE *out, struct profile *p, enum profile_weight weight);

/* Write one JSON object in the format of https://www.speedscope.app/file-format-schema.json: an
 * evented profile per thread (evented.h), then a sampled profile per thread, one sample per
 * callchain, whose weight is the sum of its calls. `name` is shown as the name of the file. `t`:
 * the timeline of the same contents, already read. Returns 0 or a negative errno. */
int speedscope_write(FILE *out, struct profile *p, struct timeline *t, enum profile_weight weight,
	const char *name);

/* Write OpenTelemetry's ProfilesData: as pprof_write(), with a profile of the number and one of the
 * time of the same samples; the profile of `weight` is the first. Returns 0 or a negative errno. */
int otlp_write(FILE *out, struct profile *p, enum profile_weight weight);

struct export_types {
	const char *count, *time;
};

/* Return the names of the two values of a callchain: for calls of the OS runtime "calls" and
 * "time". */
struct export_types export_types(enum profile_source source);

/* Pass each callchain of a profile, depth first: `path` has its nodes from the outermost, path[0],
 * to path[depth], which is `node`. `take` returns 1 if it wrote the callchain, 0 if it left it out,
 * or a negative errno, which ends this. Returns 0, -ENODATA if none was written, -ENOMEM, or the
 * error of `take`. */
int export_callchains(struct profile *p, enum profile_weight weight,
	int (*take)(
		void *user, const uint32_t *path, uint32_t depth, const struct profile_node *node),
	void *user);

/* Return the root whose node is `node`. */
const struct profile_root *export_root(const struct profile *p, uint32_t node);

/* Write "program (pid)" or "thread (tid)", at most `bytes`. */
#define EXPORT_NAME_BYTES (PROCESS_LABEL_BYTES + 16)
void export_process_name(
	struct process_list *l, const struct process *process, char *out, size_t bytes);
void export_thread_name(struct string_ref name, uint32_t tid, char *out, size_t bytes);

#endif
