/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_tree.c - the process tree: found, joined or created, with a living writer.
 */
#define _GNU_SOURCE
#include "tracer/session/process_tree.h"

#include <errno.h>

#include "common/clock.h"
#include "common/pattern.h"
#include "common/seccomp.h"
#include "common/sys.h"
#include "common/text.h"
#include "common/tree.h"
#include "tracer/session/child.h"
#include "tracer/core/gate.h"
#include "tracer/base/launch.h"
#include "tracer/base/libc.h"
#include "tracer/base/unshared_fds.h"
#include "tracer/core/diagnostic.h"
#include "tracer/core/lease.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"
#include "tracer/core/window.h"

extern char **environ;

/* Make `path` absolute by the current directory. Return its length, 0 if it does not fit or there
 * is no directory. */
static size_t make_absolute(const char *path, char *ret_path, size_t bytes)
{
	size_t at = 0;
	if (path[0] != '/') {
		if (SYS2(SYS_getcwd, ret_path, bytes) <= 0)
			return 0;
		at = text_append(ret_path, bytes, text_length(ret_path), "/");
	}
	at = text_append(ret_path, bytes, at, path);
	return at + 1 < bytes ? at : 0;
}

bool process_tree_find_home(void)
{
	Dl_info info;
	if (!libc.dladdr((void *)&session, &info) || !info.dli_fname)
		return false;
	size_t length = make_absolute(info.dli_fname, session.home, sizeof(session.home));
	while (length && session.home[length - 1] != '/')
		length--;
	session.home[length ? length - 1 : 0] = 0;
	return length > 1;
}

static void start_writer(int lock_fd)
{
	char program[sizeof(session.home) + 32];
	text_append(program, sizeof(program),
		text_append(program, sizeof(program), 0, session.home), "/libtrace-writer");
	session.writer_missing = launch_writer(program, session.tree, lock_fd) < 0;
	if (session.writer_missing)
		diagnostic_note(TREE_NOTE_LINE,
			"cannot start the writer; run 'trace recover' to add the events to the "
			"report");
}

/* Return true if each process has its own tree: the report's name contains its pid. */
static bool one_report_per_process(void)
{
	return session.config.output && text_find(session.config.output, "%p");
}

/* Return true if the environment names a tree. */
static bool is_named(void)
{
	return session.config.tree && !one_report_per_process();
}

bool process_tree_join(void)
{
	int error;
	if (!is_named())
		return false;
	session.control = tree_open(session.config.tree, &error);
	if (!session.control)
		return false;
	if (__atomic_load_n(&session.control->writer_state, __ATOMIC_ACQUIRE) == WRITER_FINISHED) {
		sys_munmap(session.control, TREE_CONTROL_BYTES);
		session.control = NULL;
		return false;
	}
	if (!gate_place(session.control, session.config.tree)) {
		sys_munmap(session.control, TREE_CONTROL_BYTES);
		session.control = NULL;
		return false;
	}
	clock_set(session.control->clock_kind);
	text_append(session.tree, sizeof(session.tree), 0, session.config.tree);
	return true;
}

#define WHY_FILTERED                                                                           \
	"it started behind a system call filter (seccomp) that the first process of the tree " \
	"did not have; set LIBTRACE_SECCOMP=trace to trace it"

/* Filters of the process at its start. */
static uint32_t filters_before;

/* Record in the tree that a filter is in force. The clock makes no system call if the vdso serves
 * it. */
static void report_filtered(struct tree_control *control, uint32_t pid)
{
	clock_set((enum clock_kind)control
			  ->clock_kind); /* otherwise reading the time would be a system call */
	uint64_t now_ns = control->clock_kind == CLOCK_KIND_TSC ? clock_monotonic_ns()
								: control->created_mono_ns;
	tree_note_at(control, now_ns, pid, TREE_NOTE_UNTRACED, WHY_FILTERED);
}

bool process_tree_is_filtered(void)
{
	uint32_t pid, unused;
	int filters = seccomp_filters(SECCOMP_PROCESS_STATUS, &pid);
	if (filters < 0) /* no /proc, or a filter answers instead of the kernel */
		return filters == -EPERM || filters == -EACCES || filters == -ENOSYS;
	filters_before = (uint32_t)filters;
	if (!filters || session.config.filtered)
		return false;
	if (!is_named())
		return filters > seccomp_filters("/proc/1/status", &unused);
	struct tree_control *control = tree_open_filtered(session.config.tree);
	if (control && filters_before <= control->filters) {
		sys_munmap(control, TREE_CONTROL_BYTES);
		return false;
	}
	if (control)
		report_filtered(control, pid);
	return true;
}

static void count_filters(void *ret_filters)
{
	uint32_t unused;
	*(int *)ret_filters = seccomp_filters(SECCOMP_THREAD_STATUS, &unused);
}

/* A task has the filters of the thread that creates it. It is created only if a descriptor of ours
 * would disturb other threads, since a filter may kill the process that creates it. */
bool process_tree_has_new_filter(void)
{
	int filters = 0;
	const struct thread *t = &thread_self;
	/* In a forked child the lanes may still be its parent's. */
	bool alone = t->vfork_pid || !t->lane || !own_words.alive ||
		!(session.shares_fds || lease_has_others(t));
	if (alone || !unshared_fds_run(count_filters, &filters))
		count_filters(&filters);
	return filters > 0 && (uint32_t)filters > filters_before;
}

static const char *lookup_environment(const char *name)
{
	return config_lookup(environ, name);
}

/* Return the value of a variable for the report; NULL = its default is used. */
static const char *option_value(const char *name, void *unused)
{
	const char *bad = session.config.bad;
	(void)unused;
	return bad && text_equal(name, bad) ? NULL : config_lookup(environ, name);
}

static bool tree_begin(void)
{
	char output[4096];
	const char *why = NULL;
	struct pattern_values values = {
		.pid = session.pid, .executable = session.exe, .lookup = lookup_environment};
	if (pattern_expand(session.config.output, &values, output, sizeof(output), &why) < 0) {
		diagnostic_note_about(
			why, session.config.output ? session.config.output : PATTERN_DEFAULT);
		return false;
	}
	why = pattern_check(output, session.config.overwrite);
	if (why) {
		diagnostic_note_about(why, output);
		return false;
	}
	struct tree_options options = {.base = session.config.spool_dir,
		.output = output,
		.overwrite = session.config.overwrite,
		.compress = session.config.compress,
		.flush_interval_ns = session.config.flush_interval_ns,
		.delay_ns = session.config.delay_ns,
		.duration_ns = session.config.duration_ns,
		.capture = window_spec(),
		.value = option_value,
		.root_pid = session.pid};
	int lock_fd, error;
	session.control = tree_create(&options, session.tree, &lock_fd, &error);
	if (session.control && !gate_place(session.control, session.tree)) {
		sys_close(lock_fd);
		sys_munmap(session.control, TREE_CONTROL_BYTES);
		session.control = NULL;
	}
	if (!session.control) {
		diagnostic_note(TREE_NOTE_LINE,
			"cannot create a folder for shared memory in LIBTRACE_SPOOL_DIR, /dev/shm "
			"or /tmp");
		return false;
	}
	child_environment_add(session.tree);
	session.is_root = true;
	if (session.config.writer)
		start_writer(lock_fd);
	sys_close(lock_fd);
	return true;
}

/* Start a new writer for a tree whose writer has died; it finds every spool of the tree. */
static void check_writer(void)
{
	if (!session.config.writer ||
		__atomic_load_n(&session.control->writer_state, __ATOMIC_ACQUIRE) == WRITER_FAILED)
		return;
	int lock_fd = tree_lock(session.tree);
	if (lock_fd < 0)
		return;
	start_writer(lock_fd);
	sys_close(lock_fd);
}

bool process_tree_enter(void)
{
	if (!is_named())
		return tree_begin();
	if (!process_tree_join())
		return false;
	session.is_root = session.control->root_pid == session.pid;
	check_writer();
	return true;
}

/* Use the parent's control page, which is mapped in the child, too. */
bool process_tree_of_child(void)
{
	if (one_report_per_process())
		return tree_begin();
	if (!session.shares_fds) /* a fork of its parent could copy the descriptor of the lock */
		check_writer();
	return true;
}
