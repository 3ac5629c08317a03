/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - tracing in this process: options, spool, tree, start and end.
 *
 * States: SESSION_NEW -> SESSION_ON -> SESSION_OFF (switched off for good, the reason is in the
 * report) or, in a forked child, SESSION_FORKED -> SESSION_ON at its first call. The gate (gate.h)
 * is what wrappers look at.
 */
#ifndef TRACER_SESSION_H
#define TRACER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/spool.h"
#include "common/tree.h"
#include "tracer/config.h"

struct dl_phdr_info; /* of <link.h> */

enum session_state { SESSION_NEW = 0, SESSION_ON, SESSION_FORKED, SESSION_OFF };

struct session {
	uint32_t state; /* enum session_state */
	uint32_t pid;
	/* The C library's dl_iterate_phdr(), given by inject/. */
	int (*iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	struct spool_header *spool; /* NULL before the first event of a forked child */
	struct tree_control *control;
	struct config config;
	char tree[512];                       /* directory of the tree */
	char spool_path[560];                 /* for growth */
	char home[512];                       /* folder of this library and the writer */
	char exe[1024];                       /* for a forked child's spool */
	char arguments[SPOOL_TEXT_BYTES / 2]; /* argv, each with its NUL: programs change theirs */
	uint32_t arguments_bytes, arguments_truncated;
	bool is_root;        /* this process made the tree */
	bool writer_missing; /* this process could not start one */
	bool restricted; /* a system call filter is in force: make no call the program might not be
			    allowed */
	char output[1024]; /* copies of what config points to */
	char spool_base[256];
};

extern struct session session __attribute__((visibility("hidden")));

/* Starts tracing in a process that has just been executed. Before main; never fails: it is off
 * then. */
void session_start(int argc, char **argv, char **envp);

/* In a forked child, first thing: nothing of the parent's may be touched. Async-signal-safe. Where
 * the fork interrupted the tracer, the child records nothing until that has been left. */
void session_child(void);

/* The same, found out by a call: the fork was made by an instruction, or its child has not done
 * anything yet. */
void session_forked(void);

/* False in a forked child that has not forgotten its parent, and in a process that shares our
 * memory. Behind a system call filter it is not asked: true. */
bool session_is_ours(void);

/*
 * Around a fork that runs atfork handlers. Most children exec or end at once, so the handler
 * touches nothing but the thread's own state (each page it wrote would be copied), and
 * session_child() waits for the child's first call. Not so where other threads of the child could
 * come first.
 */
#define FORKED_TEXT __attribute__((section(".text.hot.forked"))) /* pages a new child touches */
void session_before_fork(void);
void session_child_handler(void);

/* In a forked child, at its first event. False = off. */
bool session_child_start(void);

/* The process is about to end (exit, _exit, quick_exit): notes the status, and in the tree's first
 * process waits, bounded, for the writer. */
void session_end(int status);

/* About to be replaced by exec, and back when exec failed. */
void session_exec(void);
void session_exec_failed(void);

/* A system call filter is about to come into force: what will not be possible behind it is done
 * now. */
void session_restrict(void);

/* A line for the report's diagnostics. */
void session_note(const char *text);

/* The program has locked all its memory: ours is not to be. */
void session_unlock_memory(void);

/* Switches tracing off in this process and says why in the spool and the tree. */
void session_off(const char *reason);

/* A call came before the library was ready. */
void session_gate_closed(void);

/* A child was forked before the library was ready: it cannot be traced. */
void session_early_child(uint32_t pid);

/* Waits. Under a system call filter there is nothing but to look at the clock again and again. */
void session_pause(uint64_t ns);

/* Events that reached no lane. */
void session_count_drop(enum drop_reason reason);

#endif
