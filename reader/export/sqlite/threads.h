/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - ids that nsys gives processes and threads, and names of threads.
 *
 * A globalTid is machine << 56 | VM << 48 | pid << 24 | tid. Machine and VM distinguish reports,
 * and processes of one report that had the same pid at different times, or in different reports
 * that it was merged from.
 *
 * Memory: 32 bytes and a map entry for each thread, a map entry for each process whose pid was
 * reused. One thread; allocates.
 */
#ifndef READER_EXPORT_SQLITE_THREADS_H
#define READER_EXPORT_SQLITE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/export/sqlite/texts.h"
#include "reader/base/map.h"
#include "reader/report/processes.h"

/* A thread that rows refer to: one row of ThreadNames. */
struct export_thread {
	int64_t global_tid;
	uint32_t name;     /* text id + 1; 0 = none yet */
	uint32_t priority; /* priority as numbered by the kernel; 0 = not known */
	uint64_t name_ns;  /* time of the name; the latest name is valid */
	bool by_program;   /* the program set the name by NVTX, which overrides the kernel's
			    * names */
};

/* All zero = empty. */
struct export_threads {
	struct map ids; /* globalTid -> index + 1 */
	struct export_thread *rows;
	uint32_t count, capacity;
	uint32_t vids; /* VM numbers assigned so far */

	/* per-report state */
	int64_t vid;         /* globalVid of the report */
	struct map lives;    /* process -> number of earlier processes with its pid */
	uint32_t lives_most; /* greatest value in `lives` */
};

#define GLOBAL_VID_BITS INT64_C(0x7fff000000000000) /* the bits of globalVid in a globalTid */

/* Assign the next VM number to a report; forget the numbers of its reused pids. */
void threads_report_begin(struct export_threads *t);
void threads_report_end(struct export_threads *t);
void threads_release(struct export_threads *t);

/* Return the globalVid of the processes of a merged report, by its number from 1. */
int64_t threads_report_vid(const struct export_threads *t, uint32_t report);

/* Return the global id of a process and thread; `p` NULL = the process is not in the report. */
int64_t global_id(const struct export_threads *t, const struct process *p, uint32_t tid);

/* Find the processes whose pid an earlier process had. Returns 0 or -ENOMEM. */
int process_lives_find(struct export_threads *t, const struct process_list *l);

/* Return the process of a globalTid in the database of one report; of a pid that was reused, the
 * last one. NULL = there is none. */
const struct process *thread_process(const struct process_list *l, int64_t global_tid);

/* Look up the thread with a globalTid, which is added if needed; *ret_thread is valid until another
 * thread is added. Returns 0 or -ENOMEM. */
int thread_find(struct export_threads *t, int64_t global_tid, struct export_thread **ret_thread);

/* Record the name that a thread got at `ns`, a string of the report. Returns 0 or -ENOMEM. */
int thread_name_note(struct export_threads *t, struct text_ids *texts, int64_t global_tid,
	uint32_t name, uint64_t ns, bool by_program);

#endif
