/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_known.c - tests of the processes that the writer knows, and of those that it waits
 * for.
 */
#include "tests/unit/test_writer.h"

#include <errno.h>
#include <signal.h>

#include "writer/base/known.h"
#include "writer/follow.h"
#include "writer/spool/liveness.h"

/* Look up 400,000 processes: milliseconds with a hash, hours with a list, which the alarm would
 * end. */
static void many_are_found(void)
{
	enum { PIDS = 100000, ROUNDS = 4 };
	struct known k = {0};
	uint32_t wrong = 0;
	alarm(60);
	for (uint32_t i = 0; i < PIDS * ROUNDS; i++) {
		known_add(&k, 1 + i % PIDS, i + 1, i);
		const struct known_process *p = known_of_pid(&k, 1 + i % PIDS);
		wrong += !p || p->id != i + 1 || known_of_pid(&k, PIDS + 1 + i) != NULL;
	}
	tap_equal(wrong, 0, "the latest process of each pid is found");
	for (uint32_t i = 0; i < PIDS; i++) {
		const struct known_process *p = known_of_pid(&k, 1 + i);
		for (uint32_t round = ROUNDS; round-- > 0; p = p ? known_before(&k, p) : NULL)
			wrong += !p || p->id != round * PIDS + i + 1;
		wrong += p != NULL;
	}
	tap_equal(wrong, 0, "earlier processes of a pid are found, one after the other");
	for (uint32_t id = 1; id <= PIDS * ROUNDS; id++) {
		const struct known_process *p = known_of_id(&k, id);
		wrong += !p || p->id != id || p->pid != 1 + (id - 1) % PIDS;
	}
	wrong += known_of_id(&k, PIDS * ROUNDS + 1) != NULL;
	tap_equal(wrong, 0, "each process is found by its id");
	known_clear(&k);
	tap(!known_of_pid(&k, 1) && !known_of_id(&k, 1), "a list that was cleared is empty");
	alarm(0);
}

static pid_t start_writer(const struct fake_tree *t)
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stderr);
		_exit(follow_tree(t->dir, -1));
	}
	return pid;
}

/* Start a process that makes no call until it is killed. */
static pid_t start_sleeper(void)
{
	fflush(stdout);
	pid_t pid = fork();
	while (!pid)
		pause();
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Rename a spool: its name identifies the process that it belongs to. */
static void fake_spool_rename(struct fake_spool *s, uint32_t pid)
{
	char path[sizeof(s->path)];
	const char *name = strrchr(s->path, '/') + 1;
	snprintf(path, sizeof(path), "%.*s%u%s", (int)(name - s->path), s->path, pid,
		strchr(name, '-'));
	rename(s->path, path);
	memcpy(s->path, path, sizeof(path));
	s->header->pid = pid;
}

static bool wait_gone(const char *path)
{
	for (int i = 0; i < 60000; i++, usleep(1000))
		if (access(path, F_OK) && errno == ENOENT)
			return true;
	return false;
}

/* Wait for a child whose pid belonged to another, known process before. */
static void a_pid_used_again_is_waited_for(void)
{
	static struct report report;
	struct fake_tree t;
	struct fake_spool old, late, s;
	fake_tree_make(&t);
	fake_spool_make(&s, &t, 1, CLOCK_KIND_MONOTONIC); /* the next two map it and own it */
	pid_t parent = start_sleeper(), child = start_sleeper();
	fake_spool_rename(&s, (uint32_t)parent);
	fake_spool_make(&old, &t, (uint32_t)child, CLOCK_KIND_MONOTONIC);
	old.header->first.tick = old.header->first.mono_ns = 1; /* long before this one */
	old.header->last = old.header->first;
	fake_thread_start(&old, fake_lane(&old), (uint32_t)child, (uint32_t)child, THREAD_MAIN);
	struct lane *lane = fake_lane(&s);
	fake_thread_start(&s, lane, (uint32_t)parent, (uint32_t)parent, THREAD_MAIN);
	pid_t writer = start_writer(&t);
	tap(wait_gone(old.path), "the first process of the pid has ended");
	fake_put(&s, lane, clock_monotonic_ns(), REC_CHILD, (uint64_t)child,
		(uint64_t)CHILD_FORK << 32);
	end_sleeper(parent);
	tap(wait_gone(s.path), "so has the one that forked it again");
	usleep(300000); /* a writer that does not wait ends within this time */
	if (!tap(!access(t.dir, F_OK), "the writer waits for the child")) {
		end_sleeper(child);
		waitpid(writer, NULL, 0);
		return;
	}
	fake_spool_make(&late, &t, (uint32_t)child, CLOCK_KIND_MONOTONIC);
	lane = fake_lane(&late);
	fake_thread_start(&late, lane, (uint32_t)child, (uint32_t)child, THREAD_MAIN);
	for (uint32_t i = 0; i < 10; i++)
		fake_call(&late, lane, clock_monotonic_ns(), 5, 1);
	end_sleeper(child);
	bool ended = wait_gone(t.dir);
	tap(ended, "the tree ends");
	if (!ended)
		kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	tap_equal(
		(int64_t)report.rows[EVENT_OSRT_CALL], 10, "the report has the calls of the child");
	report_release(&report);
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t.dir, t.report);
	if (system(command))
		perror(command);
}

/* Wait for a program of posix_spawn() whose parent ends before the program has its spool. */
static void a_program_that_was_started_is_waited_for(void)
{
	static struct report report;
	struct fake_tree t;
	struct fake_spool s;
	fake_tree_make(&t);
	fake_spool_make(&s, &t, 1, CLOCK_KIND_MONOTONIC);
	pid_t parent = start_sleeper(), child = start_sleeper();
	fake_spool_rename(&s, (uint32_t)parent);
	struct lane *lane = fake_lane(&s);
	fake_thread_start(&s, lane, (uint32_t)parent, (uint32_t)parent, THREAD_MAIN);
	fake_put(&s, lane, clock_monotonic_ns(), REC_CHILD, (uint64_t)child,
		(uint64_t)CHILD_SPAWN << 32);
	fake_put(&s, lane, clock_monotonic_ns(), REC_WAITED, (uint64_t)child, SIGTERM);
	pid_t writer = start_writer(&t);
	end_sleeper(parent);
	tap(wait_gone(s.path), "a process that has started a program has ended");
	usleep(300000); /* a writer that does not wait ends within this time */
	tap(!access(t.dir, F_OK), "the writer waits for the program");
	end_sleeper(child);
	bool ended = wait_gone(t.dir);
	tap(ended, "and not after its end");
	if (!ended)
		kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t listed = 0, killed = 0;
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__Process *p = report.entries[i]->process;
		listed += p && p->has_pid && p->pid == (uint32_t)child &&
			p->traced == LIBTRACE__TRACED__TRACED_NO;
		killed += p && p->pid == (uint32_t)child && p->term_signal == SIGTERM;
	}
	tap_equal(listed, 1, "a program that has recorded nothing is listed as not traced");
	tap_equal(killed, 1, "with the signal that its parent has seen");
	report_release(&report);
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t.dir, t.report);
	if (system(command))
		perror(command);
}

/* Create a spool, unmap it as an exec behind a system call filter does, without a word, and end
 * with a note some time after the writer has noticed. */
static pid_t start_filtered(struct fake_tree *t)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct fake_spool s;
	fake_spool_make(&s, t, (uint32_t)getpid(), CLOCK_KIND_MONOTONIC);
	fake_thread_start(&s, fake_lane(&s), (uint32_t)getpid(), (uint32_t)getpid(), THREAD_MAIN);
	munmap(s.map, FAKE_SPOOL_BYTES);
	if (!wait_gone(s.path))
		_exit(1);
	usleep(300000); /* a writer that does not wait ends within this time */
	tree_note(t->control, (uint32_t)getpid(), TREE_NOTE_UNTRACED, "behind a filter");
	_exit(0);
}

static void an_exec_without_a_word_is_waited_for(void)
{
	static struct report report;
	struct fake_tree t;
	int status = 0;
	fake_tree_make(&t);
	t.control->created_mono_ns = clock_monotonic_ns();
	pid_t pid = start_filtered(&t), writer = start_writer(&t);
	tap(waitpid(pid, &status, 0) == pid && !status,
		"a process that unmapped its spool has ended for the writer");
	tap(wait_gone(t.dir), "the tree ends with the process");
	waitpid(writer, NULL, 0);
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t listed = 0;
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__Process *p = report.entries[i]->process;
		listed += p && p->has_pid && p->pid == (uint32_t)pid && p->reason &&
			!strcmp(p->reason, "behind a filter");
	}
	tap_equal(listed, 1, "the program that it executed is listed as not traced");
	report_release(&report);
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t.dir, t.report);
	if (system(command))
		perror(command);
}

static void the_start_of_a_process_is_known(void)
{
	uint64_t before = clock_monotonic_ns(), start = 0;
	pid_t pid = start_sleeper();
	char state;
	int error = process_stat((uint32_t)pid, &state, &start);
	uint64_t after = clock_monotonic_ns(), slack = 50000000; /* /proc counts in 10 ms */
	tap(!error && start + slack >= before && start <= after + slack,
		"the start of a process is known by CLOCK_MONOTONIC");
	end_sleeper(pid);
}

/* A hostile process names a process that lives for ever: the writer must not wait for its end. */
static void process_1_is_not_waited_for(void)
{
	struct fake_tree t;
	struct fake_spool s;
	fake_tree_make(&t);
	fake_spool_make(&s, &t, 1, CLOCK_KIND_MONOTONIC);
	pid_t parent = start_sleeper();
	fake_spool_rename(&s, (uint32_t)parent);
	struct lane *lane = fake_lane(&s);
	fake_thread_start(&s, lane, (uint32_t)parent, (uint32_t)parent, THREAD_MAIN);
	fake_put(&s, lane, clock_monotonic_ns(), REC_CHILD, 1, (uint64_t)CHILD_FORK << 32);
	fake_put(&s, lane, clock_monotonic_ns(), REC_CHILD, 1, (uint64_t)CHILD_SPAWN << 32);
	pid_t writer = start_writer(&t);
	end_sleeper(parent);
	bool ended = wait_gone(t.dir);
	tap(ended, "a tree of which a record names process 1 ends with its own processes");
	if (!ended)
		kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t.dir, t.report);
	if (system(command))
		perror(command);
}

int main(void)
{
	many_are_found();
	a_program_that_was_started_is_waited_for();
	a_pid_used_again_is_waited_for();
	an_exec_without_a_word_is_waited_for();
	the_start_of_a_process_is_known();
	process_1_is_not_waited_for();
	return tap_end();
}
