/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spools.h - the spools of a tree: finding, mapping, checking and dropping them.
 *
 * Life of a spool: found (spools_discover) -> dead (its process has ended) -> finished (all of it
 * is in the report) -> unlinked and freed. A spool is hostile input: its process may have written
 * over it, and may still do so. Offsets are checked against what is mapped at every use, shared
 * words are read once, and an access to a page that was cut from the file reads a zero page instead
 * of raising a signal. One thread; allocates.
 */
#ifndef WRITER_SPOOL_SPOOLS_H
#define WRITER_SPOOL_SPOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"
#include "writer/spool/slots.h"

struct lane_view;

struct last_exec { /* the latest REC_EXEC */
	uint32_t verdict;
	uint64_t ns;
	char path[512];
};

/* Counts of the context switches of a process (writer/sched/). */
struct switch_counts {
	uint64_t threads; /* threads whose switches the kernel records */
	uint64_t refused; /* threads whose switches it does not record: limits */
	uint64_t rows;
	uint64_t lost;   /* records that found no room in a ring */
	const char *off; /* why none are recorded; NULL = they are */
};

struct spool {
	char name[64];      /* name of the file */
	uint32_t id;        /* Process.id */
	uint32_t pid, ppid; /* pid: as in the file's name, which the process cannot change */
	uint8_t *map;
	uint64_t map_bytes;
	struct lane_view **lanes;
	uint32_t lane_count;
	uint32_t device_lane; /* 1 + index of the device lane; 0 = none */

	/* owner (liveness.h) */
	uint64_t pid_namespace;
	bool same_namespace; /* in the writer's pid namespace */
	int pidfd;           /* -1 = none */
	uint32_t host_pid;   /* pid as the writer sees it; 0 = not searched for, or not found yet */
	bool looked_for;     /* all processes were searched for the owner */
	bool seen;           /* the last search found a process that may be the owner */
	uint64_t checked_ns; /* when /proc was last read */
	uint32_t watch;      /* 1 + its row in struct watch; 0 = not watched */
	bool proven;         /* see spool_is_proven() */
	uint64_t proof_ns;   /* when that was last looked at */

	/* progress */
	bool dead;                /* its process has ended, or is another program now */
	bool dead_when_found;     /* its time of death is not known */
	struct clock_point alive; /* when its pidfd last showed that it lived; zero = never */
	struct clock_point ended; /* when the kernel reported its end; zero = it did not */
	bool announced;           /* its Process entry is in a block */
	bool drained; /* the process was notified that all its events are in the report */
	bool finished;
	bool damaged;
	uint64_t damaged_lanes;
	uint64_t start_ns;
	uint64_t latest_tick;   /* end of the latest call that was read */
	uint64_t events;        /* rows that were added */
	uint32_t breaks_before; /* breaks of the clock when the spool was found */
	struct last_exec exec;
	bool has_nvtx;            /* ranges or marks were read */
	uint64_t threads;         /* that began, without children of vfork() */
	uint64_t readings;        /* rows of the kernel's counters of threads (writer/sched/) */
	uint64_t looks;           /* rows of threads that were seen asleep */
	uint64_t steal_ns;        /* taken from the machine since the first reading */
	const char *readings_off; /* why the counters are no longer read; NULL = they are */

	struct switch_counts switches;

	/* limits against false claims */
	uint64_t data_bytes;    /* data of the file at the last check, without holes */
	uint64_t text_bytes;    /* bytes of named texts that were written to the report */
	uint64_t text_limit;    /* maximum of text_bytes (base/names.c) */
	uint64_t texts_refused; /* texts beyond the limits, written as the empty text */

	struct slot slots[SPOOL_SLOTS]; /* state of the sources of events */
};

struct refused_spool {
	char name[64], reason[160];
	uint32_t pid;
};

struct spools {
	int dir_fd;
	const char *dir;
	struct spool **all;
	uint32_t count, capacity;
	uint64_t pid_namespace;
	uint64_t owners_ns;            /* when all processes were last searched */
	uint32_t unfinished_names;     /* files that were not yet spools at the last look */
	bool at_end;                   /* a file that is not ready now never will be */
	struct refused_spool *refused; /* files that can never be read */
	uint32_t refused_count, refused_capacity, refused_reported;
};

/* Open the folder `dir`, which must outlive `s`. Return 0 or a negative errno. */
int spools_init(struct spools *s, const char *dir);
void spools_release(struct spools *s);

/* Look for new files in the folder. Return the number of new spools, which are the last elements
 * of s->all, or a negative errno. */
int spools_discover(struct spools *s);

/* Remove files of processes that were killed while they created their spool. Such a file never held
 * any event. */
void spools_remove_unfinished(struct spools *s);

/* Return the header, which is at the start of the mapping. */
struct spool_header *spool_header(const struct spool *spool);

/* Return the address of `bytes` bytes at `offset` of the spool, or NULL if the file does not hold
 * them. If the file has grown, it is remapped, which invalidates earlier pointers into it. */
void *spool_at(struct spool *spool, uint64_t offset, uint64_t bytes);

/* Return the bytes of data in the file of a spool, without holes; UINT64_MAX = not known. */
uint64_t spool_data_bytes(const struct spools *s, const struct spool *spool);

/* Unlink the file of spool `index`, and free the spool. */
void spools_drop(struct spools *s, uint32_t index);

/* Free the spools from `index` on. Their files stay, so spools_discover() finds them again. */
void spools_forget_from(struct spools *s, uint32_t index);

/* Install a SIGBUS handler that maps a zero page into the mapping of a spool. Once per process. */
void spools_guard(struct spools *s);

#endif
