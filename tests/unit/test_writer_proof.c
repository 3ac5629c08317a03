/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_proof.c - tests of what the writer believes of a process: that it is the one whose
 * pid its spool has, and when it began.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "test_writer.h"
#include "writer/follow.h"
#include "writer/spool/liveness.h"

static void clean(struct fake_tree *t)
{
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t->dir, t->report);
	if (system(command))
		perror(command);
	munmap(t->control, TREE_CONTROL_BYTES);
}

/* Fork a process that waits to be killed, without the mapping of the spool if `unmaps`. */
static pid_t waiting_child(struct fake_spool *s, bool unmaps)
{
	int ready[2];
	char byte = 0;
	if (pipe(ready))
		return -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (unmaps)
			munmap(s->map, FAKE_SPOOL_BYTES);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct spool claim(const struct fake_spool *s, pid_t pid)
{
	struct spool spool = {
		.host_pid = (uint32_t)pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	snprintf(spool.name, sizeof(spool.name), "%s", strrchr(s->path, '/') + 1);
	return spool;
}

static void the_pid_of_a_stranger_is_not_believed(void)
{
	struct fake_tree t;
	struct fake_spool s;
	fake_tree_make(&t);
	fake_spool_make(&s, &t, (uint32_t)getpid(), CLOCK_KIND_MONOTONIC);
	pid_t own = waiting_child(&s, false), stranger = waiting_child(&s, true);
	struct spool a = claim(&s, own), b = claim(&s, stranger);
	tap_equal(spool_is_proven(&a, 1), 1, "a process that maps the spool is its owner");
	tap_equal(spool_is_proven(&b, 1), 0, "a process that does not map it is not");
	b.proof_ns = 0;
	tap_equal(spool_is_proven(&b, 1), 0, "and is not later");
	end_child(own);
	tap_equal(spool_is_proven(&a, 2), 0, "an owner that has ended may not have its pid");
	end_child(stranger);
	close(a.pidfd);
	close(b.pidfd);
	munmap(s.map, FAKE_SPOOL_BYTES);
	clean(&t);
}

#define DAY_NS UINT64_C(86400000000000)
#define STANDS_FOR 2u /* the column of a wait_look */

/* Return true if the kernel counts what the writer reads: if not, it does not look. */
static bool kernel_counts(void)
{
	unsigned long long cpu_ns, delay_ns, times = 0;
	FILE *file = fopen("/proc/self/schedstat", "r");
	bool found = file && fscanf(file, "%llu %llu %llu", &cpu_ns, &delay_ns, &times) == 3;
	if (file)
		fclose(file);
	return found && times;
}

static void wait_until_asleep(pid_t pid)
{
	char state = 0;
	uint64_t start_ns;
	while (!process_stat((uint32_t)pid, &state, &start_ns) && state != 'S')
		usleep(1000);
}

/* Start a process that claims a start in the future, and sleeps until it is killed. */
static pid_t start_from_the_future(struct fake_tree *t)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct fake_spool s;
	fake_spool_make(&s, t, (uint32_t)getpid(), CLOCK_KIND_MONOTONIC);
	s.header->first.mono_ns += DAY_NS;
	s.header->thread_time.is_on = 1;
	struct lane *lane = fake_lane(&s);
	lane->thread_tick = clock_ticks();
	struct thread_start start = {.name = "main", .flags = THREAD_MAIN};
	fake_put_long(&s, lane, clock_ticks(), REC_THREAD_START, (uint64_t)getpid(),
		(uint64_t)getpid(), &start, sizeof(start));
	for (;;)
		pause();
}

/* Return true once the tree's only process has a record that is in the report. */
static bool is_written(const struct fake_tree *t)
{
	char command[200];
	struct lane lane = {0};
	snprintf(command, sizeof(command), "tail -c +%u %s/*.spool 2>/dev/null",
		SPOOL_HEADER_BYTES + 1, t->dir);
	FILE *file = popen(command, "r");
	bool written = file && fread(&lane, sizeof(lane), 1, file) == 1 && lane.tail;
	if (file)
		pclose(file);
	return written;
}

static void a_start_in_the_future_is_no_reason_not_to_look(void)
{
	static struct report report;
	struct fake_tree t;
	uint64_t longest_ns = 0;
	fake_tree_make(&t);
	pid_t pid = start_from_the_future(&t);
	while (!__atomic_load_n(&t.control->spools, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(1000);
	wait_until_asleep(pid);
	fflush(stdout);
	pid_t writer = fork();
	if (!writer) {
		freopen("/dev/null", "w", stderr);
		_exit(follow_tree(t.dir, -1));
	}
	/* The first look comes before the first record is written. */
	for (unsigned i = 0; i < 600 && !is_written(&t); i++)
		usleep(100000);
	end_child(pid);
	waitpid(writer, NULL, 0);
	tap(report_read(&report, t.report), "the report opens");
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__EventBatch *b = report.entries[i]->batch;
		for (uint32_t row = 0; b && b->kind == EVENT_WAIT_LOOK && row < b->count; row++)
			if ((uint64_t)batch_value(b, STANDS_FOR, row) > longest_ns)
				longest_ns = (uint64_t)batch_value(b, STANDS_FOR, row);
	}
	tap(longest_ns < DAY_NS, "a look stands for at most the time since the last one");
	tap(report.rows[EVENT_WAIT_LOOK] || !kernel_counts(),
		"a thread of a process whose start is in the future is looked at");
	report_release(&report);
	clean(&t);
}

int main(void)
{
	the_pid_of_a_stranger_is_not_believed();
	a_start_in_the_future_is_no_reason_not_to_look();
	return tap_end();
}
