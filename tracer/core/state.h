/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the state of the session, which all of the tracer reads.
 *
 * A leaf: it starts and ends nothing (session.h, fork.h do), so that every other file may use it.
 */
#ifndef TRACER_CORE_STATE_H
#define TRACER_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/tree.h"
#include "tracer/core/config.h"

struct dl_phdr_info; /* declared in <link.h> */

enum session_state { SESSION_NEW = 0, SESSION_ON, SESSION_FORKED, SESSION_OFF };

struct session {
	uint32_t state; /* enum session_state */
	uint32_t pid;
	/* The C library's dl_iterate_phdr(), given by inject/. */
	int (*iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	struct spool_header *spool; /* NULL before the first event of a forked child */
	struct tree_control *control;
	struct config config;
	char tree[512];       /* directory of the tree */
	char spool_path[560]; /* path of the spool, for growth */
	char home[512];       /* folder of this library and the writer */
	char exe[1024];       /* path of the executable, for a forked child's spool */
	char arguments[SPOOL_TEXT_BYTES / 2]; /* argv, each with its NUL: programs change theirs */
	uint32_t arguments_bytes, arguments_truncated;
	bool is_root;         /* this process created the tree */
	bool may_change_user; /* the process runs as root: its children may become another user's
				 processes */
	bool writer_missing;  /* this process could not start a writer */
	bool restricted; /* a system call filter is in force: make no call the program might not be
			    allowed */
	bool shares_fds; /* a forked child whose descriptor table is its parent's, too: clone() with
			    CLONE_FILES */
	char output[1024]; /* copies of what config points to */
	char spool_base[256];
};

extern struct session session __attribute__((visibility("hidden")));

/* A section for functions that a new child runs first: few pages to be copied or mapped. */
#define FORKED_TEXT __attribute__((section(".text.hot.forked")))

/*
 * Return false in a forked child that has not forgotten its parent, and in a process that shares
 * the parent's memory. Under a system call filter the kernel is not asked, and the result is true.
 * Any thread, async-signal-safe; one system call.
 */
bool session_is_ours(void);

/* Wait for `ns` nanoseconds. Under a system call filter, poll the clock until then. Any thread,
 * async-signal-safe. */
void session_pause(uint64_t ns);

/* Count events that reached no lane; as "early" if there is no spool yet. Any thread,
 * async-signal-safe. */
void session_count_drop(enum drop_reason reason);
void session_count_drops(enum drop_reason reason, uint64_t events);

/* Early drops are those of a forked child before it has a spool: count some, forget those that a
 * fork copied, and move them to the spool once there is one. Any thread may count; only the thread
 * that forked may forget and move. All are async-signal-safe. */
void session_count_drops_early(enum drop_reason reason, uint64_t events);
void session_forget_early_drops(void);
void session_move_early_drops(void);

/* Convert `ns` nanoseconds to ticks, at the rate measured since the spool was created: accurate to
 * one part in a thousand. Needs a spool. Any thread. */
uint64_t session_ticks(uint64_t ns);

#endif
