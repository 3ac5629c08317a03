/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - the ids that nsys gives processes and threads, and the names of threads.
 *
 * A globalTid is machine << 56 | VM << 48 | pid << 24 | tid. Machine and VM tell apart reports, and
 * processes of one report that had the same pid one after the other.
 *
 * Memory: 40 bytes and a map entry for each thread, a map entry for each pid that was reused. One
 * thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_THREADS_H
#define READER_EXPORT_SQLITE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/texts.h"
#include "reader/base/map.h"
#include "reader/report/processes.h"

/* A thread that a row names: one row of ThreadNames. */
struct export_thread {
	int64_t global_tid;
	uint32_t name;     /* id of a text + 1; 0 = none reported yet */
	uint32_t priority; /* as the kernel counts; 0 = not known */
	uint64_t name_ns;  /* when the name was reported: the last one holds */
	bool by_program;   /* the program gave the name by NVTX: the kernel's do not count */
};

/* All zero = empty. */
struct export_threads {
	struct map ids; /* globalTid -> index + 1 */
	struct export_thread *rows;
	uint32_t count, capacity;
	uint32_t vids; /* VM numbers given so far */

	/* per-report state */
	int64_t vid;      /* globalVid of the report */
	struct map lives; /* process -> how many processes had its pid before */
	uint32_t lives_most;
};

#define GLOBAL_VID_BITS INT64_C(0x7fff000000000000) /* the bits of globalVid in a globalTid */

/* Give the next report its VM number; and give it back the numbers of its reused pids. */
void threads_report_begin(struct export_threads *t);
void threads_report_end(struct export_threads *t);
void threads_release(struct export_threads *t);

/* Return pid and tid with the ids of machine and VM before them. NULL: a process that the report
 * does not know. */
int64_t global_id(const struct export_threads *t, const struct process *p, uint32_t tid);

/* Find the processes whose pid another process had before. Returns 0 or -ENOMEM. */
int process_lives_find(struct export_threads *t, const struct process_list *l);

/* Find the thread with this globalTid, adding it if need be; it moves when others are added.
 * Returns 0 or -ENOMEM. */
int thread_find(struct export_threads *t, int64_t global_tid, struct export_thread **ret_thread);

/* Note that a thread was named at `ns`. `name` is a string of the report. Returns 0 or -ENOMEM. */
int thread_name_note(struct export_threads *t, struct text_ids *texts, int64_t global_tid,
	uint32_t name, uint64_t ns, bool by_program);

#endif
