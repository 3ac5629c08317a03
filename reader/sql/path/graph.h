/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - recorded calls of threads and operations of streams, in memory, to find out what each
 * waited for (waits.h) and which of them a run took its time for (walk.h).
 *
 * A track is a thread or a stream of a device. Operations of a stream that overlap, which are
 * nodes of a graph that run beside each other, are on several tracks: its lanes. The input is the
 * tables of reports, and temporary tables and views of reader/reports/shared/path.sql:
 *
 *   PATH_NAMES        source, nameId, name, role, trait: what the functions do
 *   PATH_OTHER_CALLS  id, globalTid, start, end, nameId, source: calls of other sources
 *   PATH_THREADS      globalTid, start, end, has_end, parent (thread that started it), parent_time
 *   PATH_OTHER_WAITS  number, other, other_time, how: waits that SQL finds
 *
 * A call has a number, made of its source and the id of its row. 40 bytes are taken for each. Rows
 * without a thread or a time, and ids above UINT32_MAX, are left out. What is more than the
 * argument `memory` (MiB, default PATH_MEMORY_MIB) is in a file: readers go through the calls of
 * each thread in order of time, so that only a window of them is in memory (spill.h).
 *
 * path_graph_read(); path_graph_threads_read() when PATH_THREADS is filled; path_waits_read(); then
 * everything else; path_waits_free() and path_graph_release() at the end. Functions return a code
 * of SQLite. One thread; allocates.
 */
#ifndef READER_SQL_PATH_GRAPH_H
#define READER_SQL_PATH_GRAPH_H

#ifdef HAVE_SQLITE

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "reader/base/map.h"
#include "reader/base/pool.h"
#include "reader/base/spill.h"

#define PATH_NOWHERE UINT32_MAX   /* index of a track that is not known */
#define PATH_NO_VALUE INT32_MIN   /* the call returned nothing that is known */
#define PATH_NO_ERROR_KNOWN 255   /* error of a call that has no row of details */
#define PATH_TIME_MAX (1ll << 61) /* differences of times do not overflow */
#define PATH_MEMORY_MIB 512
#define PATH_SECOND 1       /* the second descriptor of a pair */
#define PATH_BOTH_WAYS 2    /* the pair is one of sockets */
#define PATH_STEP_PAGES 32u /* of memory that a look-up uses: searches end in the same pages */
#define PATH_SHORT_NS 10000 /* a shorter call was not woken up */

/* How sure what ended a wait is. exact: by object and order, or by the id of the process; likely:
 * by time alone, or the only one that is known to use a pipe; unknown: the call waited, and nobody
 * is known to have ended that; none: it waited for nobody. */
enum path_how { HOW_NONE, HOW_EXACT, HOW_LIKELY, HOW_UNKNOWN };

enum path_source {
	PATH_OSRT = 0,
	PATH_CUDA = 1,
	PATH_GIL = 2,
	PATH_UNFINISHED = 3,
	PATH_BARRIER = 4,
	PATH_MPI = 5,
	PATH_FUNCTION = 6, /* of a library: functions.h */
	PATH_IDLE = 8,
	PATH_WORK = 15 /* operations of streams */
};

/* What a function does: PATH_NAMES.role. */
enum path_role {
	ROLE_NONE,
#define ROLE(name, text) ROLE_##name,
#include "reader/sql/path/roles.def"
};

struct path_name {
	const char *text;
	uint8_t source, role;
	bool trait; /* of a read: its own time; of a write: 0 bytes are a write; of a wait for a
		       process: for any */
	bool has_descriptor; /* it is the object */
	int8_t standard;     /* descriptor of a function that has it not as object; -1 = none */
};

struct path_call {
	int64_t start, end;
	uint32_t id;        /* of the row, in its table */
	int32_t value;      /* what it returned, between INT32_MIN + 1 and INT32_MAX */
	uint32_t object;    /* a descriptor, if the function has one; of CUDA the correlation id;
			       else an index into `objects` */
	uint32_t chain;     /* id of the callchain; 0 = none */
	uint32_t name : 24; /* index into `names` */
	uint32_t error : 8; /* errno */
	uint32_t holder;    /* thread that held the lock, 0 = not known; of an operation of a
			       stream: 1 + index into `ranks`, 0 = none */
};

struct path_track {
	int64_t id; /* a globalTid; below 0: a stream */
	int64_t start, end, parent_time;
	int64_t process, device, context, stream; /* process: globalTid >> 24; rest: of a stream */
	uint32_t parent;                          /* index of a track, or PATH_NOWHERE */
	uint32_t lane; /* index of the next track of the same stream, in a circle */
	bool is_stream, has_end;
	struct path_call *calls; /* outer ones in order, which do not overlap; then those within */
	uint32_t outer, count, capacity;
};

struct path_object {
	int64_t process, value;
};

/* A call that opens, copies or closes a descriptor. */
struct path_descriptor {
	int64_t process, time;
	int64_t number; /* of the call */
	int32_t descriptor;
	int32_t copied; /* of ROLE_COPY: the descriptor that it copied; of ROLE_PAIR: PATH_SECOND
			   and PATH_BOTH_WAYS */
	uint8_t role;
	uint32_t file; /* 1 + index of the name of what it is; 0 = not known */
};

/* A call by which an operation was launched. */
struct path_launch {
	int64_t process, start, end;
	uint32_t correlation, track;
	bool repeated; /* a row that repeats a call to add its callchain (class 67) */
};

/* What is known of a kernel of NCCL. */
struct path_rank {
	int64_t process, time; /* of the operation that it waited for, and when that began */
	uint32_t correlation;
	uint32_t cause;   /* name, with the wait, of what followed the wait; PATH_NOWHERE = none */
	uint32_t meeting; /* number of the collective whose ranks are all known; 0 = none */
	uint32_t track, operation; /* where that is (ranks.c); PATH_NOWHERE = not found */
	uint8_t how;               /* enum path_how; HOW_NONE = it did not wait */
};

struct path_graph {
	sqlite3 *connection;
	struct spill spill; /* what grows with the calls */
	int spill_error;    /* why that has no file: a negative errno; 0 = nothing */
	struct path_track *tracks;
	struct path_name *names;
	struct path_object *objects; /* [0]: none */
	struct path_descriptor *descriptors;
	struct path_launch *launches;
	struct path_rank *ranks;
	uint32_t track_count, track_capacity, name_count, name_capacity, object_count,
		object_capacity, descriptor_count, descriptor_capacity, launch_count,
		launch_capacity, stream_count, rank_count, rank_capacity;
	struct map track_index, name_index, object_index, stream_index;
	struct pool pool;                 /* texts of names */
	struct path_waits *waits;         /* what waits.c knows */
	struct path_events *events;       /* what events.c knows; it owns that */
	struct path_facts *facts;         /* what shares.c knows; it owns that */
	struct path_functions *functions; /* what functions.c knows; it owns that */
	struct path_things *things;       /* what things.c knows; it owns that */
	struct path_holds *holds;         /* what holds.c knows; it owns that */
	struct map files; /* thread and start of a call -> 1 + index of the name of the file that it
			     opened */
	struct map opened; /* the same -> 1 + index in `descriptors`, until these are sorted */
	sqlite3_stmt *name_find;
	bool has_chains;  /* a call has a callchain */
	bool has_threads; /* PATH_THREADS has been read */
	bool has_ranks;   /* tracks of `ranks` have been found */
};

/* Read calls and operations anew. */
int path_graph_read(struct path_graph *g, sqlite3 *connection);
/* Read the threads, unless that has been done. */
int path_graph_threads_read(struct path_graph *g);
/* Release everything and leave the graph empty. */
void path_graph_release(struct path_graph *g);

/* Return the index of a track; PATH_NOWHERE = there is none of this id. */
uint32_t path_graph_track(const struct path_graph *g, int64_t id);

/* Return the first thread of the process with this id, in the report of a track (of which merged
 * ones have several); PATH_NOWHERE = not known, or no process id. */
uint32_t path_first_thread(const struct path_graph *g, uint32_t track, int64_t pid);

/* Return the first thread of a process (globalTid >> 24, which is negative in files that are not
 * ours); PATH_NOWHERE = not known. */
uint32_t path_main_thread(const struct path_graph *g, int64_t process);

/* Find the operation of a stream, on any of its lanes, that ended last before a time; NULL = none.
 * `track`: one of the lanes. Sets the index of the track of the operation. */
const struct path_call *path_stream_before(
	const struct path_graph *g, uint32_t track, int64_t time, uint32_t *ret_track);

/* Return the last call of a track that ended before a time; NULL = none. */
const struct path_call *path_ended_before(const struct path_track *t, int64_t time);

/* Return the call that launched an operation; NULL = none is known. */
const struct path_launch *path_launch_of(
	struct path_graph *g, uint32_t track, const struct path_call *c);
/* Sort the launches, when the calls have been read. */
int path_launches_sort(struct path_graph *g);

/* Return whether a call ended because its timeout did, like a sleep. */
bool path_timed_out(const struct path_graph *g, const struct path_call *c);

/* Pass each row of a statement to a function until that does not return SQLITE_OK. */
int path_rows(sqlite3 *connection, const char *text, void *user,
	int (*row)(void *user, sqlite3_stmt *in));

/* Make room for one more element after the first `count` of an array in `spill`. */
int path_room(struct path_graph *g, void *array, uint32_t count, uint32_t *capacity, size_t bytes);
/* Sort such an array. */
int path_sort(struct path_graph *g, void *array, uint32_t count, uint32_t *capacity, size_t bytes,
	int (*order)(const void *one, const void *two));

/* Read a time of a row. Returns false if it is not one, or so large that differences overflow. */
bool path_is_time(sqlite3_stmt *in, int column, int64_t *ret_time);

/* Return the index of the name of a source, which is added if it is new; PATH_NOWHERE = out of
 * memory. The name has no role. NULL is "". */
uint32_t path_name_of_text(struct path_graph *g, uint8_t source, const char *text);

/* Return how sure a text of SQL says something is; NULL and other texts are unknown. */
enum path_how path_how_of(const char *text);

/* Return the text of a role; NULL for ROLE_NONE. */
const char *path_role_text(uint8_t role);

/* Return the name of a call. */
static inline const struct path_name *path_name_of(
	const struct path_graph *g, const struct path_call *c)
{
	return &g->names[c->name];
}

/* Return whether the object of a call is a descriptor; UINT32_MAX = not known. */
static inline bool path_has_descriptor(const struct path_name *name)
{
	switch (name->role) {
	case ROLE_READ:
	case ROLE_WRITE:
	case ROLE_POLL:
		return true;
	case ROLE_NONE:
	case ROLE_COPY:
	case ROLE_CLOSE:
		return name->has_descriptor;
	default:
		return false;
	}
}

/* Return the number of a call. */
static inline int64_t path_number(const struct path_graph *g, const struct path_call *c)
{
	return (int64_t)c->id << 4 | g->names[c->name].source;
}

#endif

#endif
