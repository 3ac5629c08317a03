/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spools.h - the spools of a tree as the writer sees them: found, mapped, checked, watched, let go.
 *
 * Life of a spool: found (spools_discover) -> dead (its process has ended) -> finished (all of it
 * is in the report) -> unlinked and freed. A spool is hostile input: its process may have scribbled
 * over it, and may still do so. Offsets are checked against what is mapped at every use, shared
 * words are read once, and a page that has gone from the file becomes a zero page instead of a
 * signal. One thread.
 */
#ifndef WRITER_SPOOLS_H
#define WRITER_SPOOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

/* Counted events of one Process of the report. */
struct tally {
	uint64_t produced; /* from slots and positions */
	uint64_t written;  /* from the rows that were encoded */
	uint64_t summarized, abandoned, impossible, unfinished;
};

struct lane_view {
	uint32_t index;
	uint64_t offset;   /* of struct lane */
	uint64_t position; /* drained into the block being made */
	uint64_t head;  /* as last looked at: before the time that its records are converted with */
	uint32_t tid;   /* thread whose records follow; 0 = not known */
	uint32_t owner; /* Process.id of a vfork child that runs on this lane, 0 = the spool's own
			   process */
	uint32_t owner_pid;
	struct tally own, guest; /* of the spool's process, of the present owner */
	uint64_t ranges;         /* file offset of its open NVTX ranges, once they were read */
	uint64_t gaps;           /* events that are missing by the GAP rows */
	uint64_t unwritten;      /* slots that the head counts and nobody wrote */
	bool guest_execs;        /* the owner was about to exec */
	bool touched;            /* position is ahead of the tail in the spool */
	bool closed;             /* finished rows are in the block being made, or in the report */
	bool damaged;
};

struct last_exec { /* the latest REC_EXEC */
	uint32_t verdict;
	uint64_t ns;
	char path[512];
};

struct cuda_causality { /* of device operations whose API call is known */
	uint64_t checked, too_early, worst_early_ns;
};

struct results;
struct launches;
struct modules;
struct cubins;
struct callchains;
void results_free(struct results *results);
void launches_free(struct launches *launches);
void modules_free(struct modules *modules);
void cubins_free(struct cubins *cubins);
void callchains_free(struct callchains *callchains);

struct spool {
	char name[64];      /* of the file */
	uint32_t id;        /* Process.id */
	uint32_t pid, ppid; /* pid: as the file's name has it, which the process cannot change */
	uint64_t pid_namespace;
	int pidfd; /* -1 = none */
	uint8_t *map;
	uint64_t map_bytes;
	uint64_t start_ns;
	uint64_t latest_tick; /* end of the latest call seen */
	bool dead_when_found; /* nobody saw when it died */
	struct lane_view **lanes;
	uint32_t lane_count;
	bool same_namespace;
	uint32_t host_pid; /* as the writer sees it; 0 = not looked for, or not found yet */
	bool looked_for;   /* among all processes */
	bool seen;         /* at the last look for owners: may be somebody's */
	bool dead;         /* its process has ended, or is another program now */
	bool announced;    /* the Process entry has gone into a block */
	bool drained;      /* told the process so */
	bool damaged;
	bool finished;
	uint64_t damaged_lanes;
	uint32_t breaks_before; /* of the clock, when it was found */
	uint64_t data_bytes;    /* of the file when last looked at: holes do not count */
	uint64_t text_bytes;    /* of names that were written into the report ... */
	uint64_t text_limit;    /* ... and may be: spool_text_id() */
	uint64_t texts_refused; /* beyond that: written as no text */
	uint64_t checked_ns;    /* when /proc was last asked */
	struct last_exec exec;
	struct cuda_causality cuda;
	struct results *results;       /* launches for standard entries; NULL = none */
	struct launches *launches;     /* calls that launch; NULL = none */
	struct cubins *cubins;         /* code of modules; NULL = none */
	struct modules *modules;       /* files mapped as code; NULL = none told */
	bool has_nvtx;                 /* there were ranges or marks */
	uint32_t device_lane;          /* 1 + its index; 0 = none */
	struct callchains *callchains; /* nodes that are in the report; NULL = none */
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
	uint64_t owners_ns;            /* when all processes were last looked at */
	uint32_t unfinished_names;     /* files that are no spools yet, at the last look */
	bool at_end;                   /* what is not ready now never will be */
	struct refused_spool *refused; /* files that can never be read */
	uint32_t refused_count, refused_capacity, refused_told;
};

int spools_init(struct spools *s, const char *dir);
void spools_release(struct spools *s);

/* Looks into the directory. Returns the number of new spools, which are the last ones of s->all, or
 * a negative errno. */
int spools_discover(struct spools *s);

/* What processes left that were killed while they made their spool: it never held anything. */
void spools_remove_unfinished(struct spools *s);

struct spool_header *spool_header(const struct spool *spool);

/* `bytes` at `offset`, mapped again if the file has grown; NULL when it does not hold them. */
void *spool_at(struct spool *spool, uint64_t offset, uint64_t bytes);

/* Brings spool->lanes up to the lanes there are. Lanes with impossible offsets are left out for
 * ever. */
void spool_find_lanes(struct spools *s, struct spool *spool);

/* Bytes of data in a spool's file; holes do not count. */
uint64_t spool_data_bytes(int dir_fd, const char *name);

/* The lane itself, or NULL. */
struct lane *lane_of(struct spool *spool, const struct lane_view *view);

/*
 * Refreshes the heads of all open lanes. Returns what they hold beyond their positions and raises
 * *fullest to the fullest one's; a head that cannot be marks its lane damaged.
 */
uint64_t spool_look(struct spool *spool, uint64_t *fullest);

/* Has the process ended, or been replaced by another program? `now_ns` limits how often /proc is
 * asked. */
bool spool_is_dead(struct spools *s, struct spool *spool, uint64_t now_ns);

/* State letter and start time of a process, in ns of CLOCK_MONOTONIC. 0 or a negative errno. */
int process_stat(uint32_t pid, char *ret_state, uint64_t *ret_start_ns);

/* Has the process of that spool become another program? Asked when a spool of the same pid is seen.
 * True also where the system does not say. */
bool spool_is_replaced(const struct spool *spool);

/* The first process of our pid namespace, as a program in a container is: when it has gone, the
 * kernel kills all others of the namespace. */
bool spool_is_init(const struct spool *spool);

/* Unlinks the file and frees the memory. */
void spools_drop(struct spools *s, uint32_t index);

/* Lets go of the spools from `index` on; their files stay, and are found again. */
void spools_forget_from(struct spools *s, uint32_t index);

/* Turns SIGBUS in a spool's mapping into a zero page. Once. */
void spools_guard(struct spools *s);

#endif
