/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - entries of the report about each process: its parent, its program, its end, whether
 * it was traced.
 *
 * Functions add entries to the block, which has room for them after writer_make_room(). Times are
 * ns of CLOCK_MONOTONIC. One thread; allocates.
 */
#ifndef WRITER_PROCESS_PROCESS_H
#define WRITER_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/base/writer.h"
#include "writer/spool/lanes.h"

/* Give a new spool the id of its process, and add the Process entry; or read both from the report
 * of a predecessor. */
void process_begin(struct writer *w, struct spool *spool);

/* The end of a process. */
struct process_end {
	uint64_t ns;
	bool is_bounded; /* it was not observed: it is between `earliest_ns` and `latest_ns` */
	uint64_t earliest_ns, latest_ns; /* latest_ns: 0 = not known */
};

/* Add the end of a dead, drained process: Process entry, receipt, clock points. `unaccounted`:
 * events that its sources counted and the report does not have. */
void process_end(
	struct writer *w, struct spool *spool, const struct process_end *end, uint64_t unaccounted);

/* Keep the end of a child that the process of the spool has waited for, and add its status, if the
 * child is in the report without. */
void process_waited(struct writer *w, const struct spool *spool, const struct waited *waited);

/* Add a vfork child, which runs on its parent's spool. Return its id. */
uint32_t process_guest(
	struct writer *w, const struct spool *spool, uint32_t pid, uint64_t start_ns);

/* Add the end of the vfork child that has run on the lane. */
void process_guest_end(struct writer *w, const struct spool *spool, struct lane_view *view,
	uint64_t end_ns, bool killed);

/* Add a process that was not traced, for the reason `verdict` (enum verdict). `previous_id`: the
 * process that it replaced by exec; 0 = none. */
void process_put_untraced(struct writer *w, uint32_t pid, uint32_t parent_pid, uint32_t previous_id,
	uint32_t verdict, uint64_t ns, const char *path);

/* Add the first program of the tree, which nobody announces, as not traced: at the beginning of the
 * tree if its file cannot load the tracer, at the end of the tree if it has not appeared. */
void process_put_root(struct writer *w, bool at_end);

/* Add a process that was not traced, with the reason as text, which is cleaned in place. `pid` 0 =
 * not known. A program that a noted copy of its parent has executed replaces that entry. */
void process_put_untraced_reason(struct writer *w, uint32_t pid, uint64_t ns, char *reason);

/* Expect a program that the process `parent_pid` has started. It keeps the tree alive, and is added
 * at the end of the tree if it has not appeared, or if `verdict` says that it is not traced. */
void process_expect(struct writer *w, const struct spool *spool, uint32_t parent_pid, uint32_t pid,
	uint32_t verdict, uint64_t ns, const char *path);

/* Return true if a program with that verdict (enum child_verdict) is listed as not traced. */
bool verdict_is_listed(uint32_t verdict);

/* Add, at the end of the tree, the programs that should have been traced, but recorded nothing.
 * Return 0 or a negative errno as writer_flush() does. */
int process_put_unseen(struct writer *w);

/* Add, at the end of the tree, one untraced process for the spools that were created and never
 * found. */
void process_put_lost(struct writer *w);

/* Return true if a known process got this pid at `ns` or later. */
bool process_known_since(const struct writer *w, uint32_t pid, uint64_t ns);

/* Keep the tree alive until this process has ended or its spool is found. */
void process_watch(struct writer *w, uint32_t pid);

/* Likewise for a process that a spool names, which may name any: not one that started before the
 * tree, such as process 1, or later than `latest_ns`, which has only inherited the pid. */
void process_watch_child(struct writer *w, uint32_t pid, uint64_t latest_ns);

#endif
