/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - the private directory and the control page that the processes of a traced tree share
 * with its writer.
 *
 * The directory (mode 0700, by default /dev/shm/libtrace-<uid>-<id>, passed to children in
 * LIBTRACE_TREE) holds `control` (struct tree_control, mapped by every process and the writer) and
 * a <pid>-<tick>.spool per process (spool.h), which appears by rename when its header is complete.
 * The writer holds flock(LOCK_EX) on `control` while it lives: a process that gets that lock knows
 * that there is no writer, and starts one that inherits the locked descriptor (as descriptor 3). A
 * clean end removes the directory.
 *
 * A traced process may give up its rights and turn hostile, and keeps its mappings. So the control
 * page has three parts: one that never changes, one that only the writer changes, and one that all
 * processes change. The first two are mapped through a descriptor that cannot write. See
 * docs/trust.md.
 */
#ifndef COMMON_TREE_H
#define COMMON_TREE_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture.h"
#include "machine/machine.h"

#define TREE_MAGIC 0x31656572546c7254ull
#ifndef TREE_VERSION /* tests build a writer of another version */
#define TREE_VERSION 9u
#endif
/* Parts of the control page that are mapped with different rights begin with pages, whatever size
 * the kernel's pages have. */
#define TREE_PAGE MACHINE_PAGE_MAX
#define TREE_PAGES(bytes) (((bytes) + TREE_PAGE - 1) / TREE_PAGE * TREE_PAGE)
#define TREE_WRITER_AT TREE_PAGES(8192u)            /* the part that only the writer changes */
#define TREE_SHARED_AT (TREE_WRITER_AT + TREE_PAGE) /* the part that every process changes */
#define TREE_CONTROL_BYTES (TREE_SHARED_AT + TREE_PAGES(12288u))
#define TREE_DIAGNOSTICS 32u
#define TREE_ROOT_PATH_BYTES 384u
#define TREE_GUARD 0x6472617547657274ull /* a process that writes over the shared part changes it */
#define TREE_WRITER_LOCK_FD 3            /* the locked control descriptor in a new writer */
/* Exit status of the writer: the report cannot be opened, and all is kept. */
#define RECOVER_NO_REPORT 3

enum writer_state {
	WRITER_NONE = 0,
	WRITER_RUNNING = 1,
	WRITER_FAILED = 2,  /* the report could not be written: writer_error says why; spools stay
			       for `trace recover` */
	WRITER_FINISHED = 3 /* the report is complete and closed */
};

enum sink_state {
	SINK_OK = 0,
	SINK_STALLED = 1 /* the report cannot be written now: producers drop instead of waiting */
};

struct tree_diagnostic {
	uint64_t mono_ns;
	uint32_t pid;
	uint32_t ready; /* enum tree_note; stored last */
	char text[240];
};

enum tree_note {
	TREE_NOTE_NONE = 0,
	TREE_NOTE_LINE = 1,
	TREE_NOTE_UNTRACED = 2, /* the reason why the process is not traced */
	TREE_NOTE_UNTRACED_COPY =
		3 /* ... of a forked child: a program that it executes may store another */
};

/* The diagnostic of LIBTRACE_GPUCTXSW=true. `trace run` prints it, too. */
#define TREE_NOTE_GPUCTXSW                                                             \
	"context switches of the GPU are not recorded: NVIDIA's driver gives them to " \
	"root alone, in a format that is not published"

struct tree_control {
	/* Never changes once the tree has a process. Nobody has it mapped for writing. */
	uint64_t magic; /* stored last */
	uint32_t version;
	uint32_t root_pid, root_verdict;      /* tree_set_root() */
	char root_path[TREE_ROOT_PATH_BYTES]; /* may be cut */
	uint32_t clock_kind;    /* enum clock_kind: chosen once, not by each process */
	uint32_t overwrite;     /* 1 = may replace an existing file */
	uint32_t compress;      /* 0 none, 1 zstd */
	uint32_t filters;       /* system call filters of the process that created the tree */
	uint32_t keeps_windows; /* 1 = the gate may be closed at some time: windows are kept */
	uint64_t created_mono_ns, created_realtime_ns;
	uint64_t created_tick, created_error_ns; /* clock point, with created_mono_ns */
	uint64_t flush_interval_ns;              /* data waits no longer than this for its block */
	uint64_t delay_ns, duration_ns; /* 0 = from the start, to the end; applied by the writer */
	char boot_id[40]; /* /proc/sys/kernel/random/boot_id: ticks and monotonic times are valid in
			     one boot */
	char output[4096];   /* absolute path of the report, patterns expanded */
	char options[3072];  /* other options, for the report: "name=value" and a line end each */
	uint64_t named_rows; /* tree_options.has_option, a bit for each row of env.def */
	struct capture_spec capture;

	/* Written by the writer alone; atomics. */
	_Alignas(TREE_PAGE) struct capture_state
		by_time;        /* the gate if there are no capture ranges */
	uint32_t writer_state;  /* enum writer_state */
	uint32_t writer_holder; /* tree_writer_holds(): FUTEX_OWNER_DIED = that writer is dead */
	uint32_t sink_state;    /* enum sink_state */
	uint32_t time_is_over;  /* 1 = duration_ns has passed */
	uint32_t blocks; /* written since the tree began: each block frees room for producers */
	uint64_t report_inode; /* inode of the report created by a writer of this tree; 0 = none */
	struct robust_list_head writer_robust; /* read by the kernel at the writer's end */
	char writer_error[240];

	/* Shared by all processes, so trusted by none; atomics. */
	_Alignas(
		TREE_PAGE) struct capture_state by_range; /* the gate if there are capture ranges */
	uint64_t guard_first;                             /* TREE_GUARD, and guard_last */
	uint32_t wake;     /* futex: changed by a producer that wants the writer's attention */
	uint32_t sleeping; /* 1 = the writer is in a long sleep on `wake`; producers call futex only
			      then */
	uint32_t exit_requests; /* processes that wait for spool_header.drained; the writer drains
				   at once */
	uint32_t spools; /* spools created so far: a change makes the writer look into the directory
			  */
	uint32_t diagnostic_count; /* diagnostics so far; entries beyond TREE_DIAGNOSTICS are only
				      counted */
	uint32_t untraced_unsaid;  /* ... of these, processes that are not traced */
	struct tree_diagnostic diagnostics[TREE_DIAGNOSTICS];
	uint64_t unrecorded; /* calls that forked children have not recorded, of children that have
				no spool yet */
	uint64_t guard_last;
};
_Static_assert(offsetof(struct tree_control, by_time) == TREE_WRITER_AT &&
		offsetof(struct tree_control, by_range) == TREE_SHARED_AT &&
		sizeof(struct tree_control) == TREE_CONTROL_BYTES,
	"the parts of the control page begin with pages");

/* The options of the process that creates a tree. Strings are copied. */
struct tree_options {
	const char *base;   /* folder for the tree's directory; NULL = /dev/shm */
	const char *output; /* absolute path of the report, patterns expanded */
	bool overwrite, compress;
	uint64_t flush_interval_ns, delay_ns, duration_ns;
	const struct capture_spec *capture; /* NULL = everything */
	/* Return the value of a LIBTRACE_* variable, for the report; NULL = its default. */
	const char *(*value)(const char *name, void *user);
	/* Return whether diagnostics name the option of `trace run` in place of the variable. NULL
	 * = no. */
	bool (*has_option)(const char *name, void *user);
	void *user;
	uint32_t root_pid;
};

/*
 * Open a tree's directory, or a file in it, without following a link, and check by the descriptor
 * that it is ours alone: owned by the effective user, without rights for group or others, a
 * directory or a regular file without a second name. Return a descriptor or a negative errno;
 * -EPERM: it is not ours alone.
 */
int tree_open_dir(const char *dir);
int tree_open_file(int dir_fd, const char *name, int flags);

/*
 * Create the directory and control page of a new tree and take the writer's lock. Return the
 * mapped page, or NULL with a negative errno in *ret_error. `ret_dir` (TREE_PATH_BYTES) receives
 * the directory; *ret_lock_fd the locked descriptor (O_CLOEXEC), which a writer inherits as
 * TREE_WRITER_LOCK_FD. Any thread; raw system calls only; allocates nothing.
 */
struct tree_control *tree_create(
	const struct tree_options *options, char *ret_dir, int *ret_lock_fd, int *ret_error);

/* Set the first process of a tree that has no process yet, and the file of its program. `verdict`
 * (enum child_verdict) says why that program is not traced, if it does not appear; VERDICT_TRACED:
 * it need not appear. Return 0 or a negative errno. */
int tree_set_root(const char *dir, uint32_t pid, uint32_t verdict, const char *path);

/* Map the control page of an existing tree. Errors: -EPERM: the directory or page is not ours
 * alone; -EINVAL: the page cannot be read. tree_map() takes a directory that has been checked, and
 * maps for the writer if `as_writer`. */
struct tree_control *tree_open(const char *dir, int *ret_error);
struct tree_control *tree_map(int dir_fd, bool as_writer, int *ret_error);

/* Map the control page under a system call filter, by the calls that a loader makes: openat, read,
 * mmap, close. Return NULL if that fails. */
struct tree_control *tree_open_filtered(const char *dir);

/*
 * The writer's sleep. Each half stores one word and then loads the other's: at least one of them
 * must see the other's store, which only sequential consistency says.
 *
 *
 * Note that the writer is needed. Return whether it may sleep: then wake the futex `wake`. Any
 * thread.
 */
static inline bool tree_wake(struct tree_control *control)
{
	__atomic_add_fetch(&control->wake, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&control->sleeping, __ATOMIC_SEQ_CST);
}

/* Say that the writer is about to sleep. Return whether `wake` is still `seen`: then it may wait
 * for a change of it. It stores 0 in `sleeping` afterwards. */
static inline bool tree_sleep(struct tree_control *control, uint32_t seen)
{
	__atomic_store_n(&control->sleeping, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&control->wake, __ATOMIC_SEQ_CST) == seen;
}

/* Take the writer's lock. Return its descriptor, or -EWOULDBLOCK while a writer lives, or another
 * negative errno. */
int tree_lock(const char *dir);

/*
 * Make the calling thread the writer: when it ends, for any reason, the kernel notes that in the
 * control page (a robust futex). NULL: the thread is no longer the writer. Replaces the thread's
 * robust list: the thread may not own a robust mutex.
 */
void tree_writer_holds(struct tree_control *control);

/* Return true if the last writer was killed, even before its parent has noticed, and in any pid
 * namespace. Any thread; no system call. */
bool tree_writer_died(const struct tree_control *control);

/* Add a line to the diagnostics. Any thread or process of the tree. */
void tree_note(struct tree_control *control, uint32_t pid, enum tree_note kind, const char *text);

/* Add a line to the diagnostics, with its time: no system call is made. */
void tree_note_at(struct tree_control *control, uint64_t mono_ns, uint32_t pid, enum tree_note kind,
	const char *text);

#define TREE_PATH_BYTES 512u
#define TREE_DEFAULT_BASE "/dev/shm"
#define TREE_SECOND_BASE "/tmp" /* used if /dev/shm cannot be used */

#endif
