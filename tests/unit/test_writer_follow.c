/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_follow.c - tests of following a live process tree, of ends of processes, take-over
 * and recovery, with a producer that needs no libtrace.so.
 */
#include "tests/unit/test_writer.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common/sys.h"
#include "writer/follow.h"
#include "writer/recover.h"

#define FN_READ 40u
#define FN_WRITE 41u

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

static int wait_status(pid_t pid)
{
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int recover_quietly(const char *dir, const char *output)
{
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stdout);
		freopen("/dev/null", "w", stderr);
		_exit(recover_tree(dir, output));
	}
	return wait_status(pid);
}

static void clean(struct fake_tree *t)
{
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t->dir, t->report);
	if (system(command))
		perror(command);
	munmap(t->control, TREE_CONTROL_BYTES);
}

/* How many writers have been killed. While it is not NULL, a producer makes its calls in PARTS and
 * waits before each for one writer more. */
static uint32_t *writers_killed;
#define PARTS 6

static void produce(struct fake_spool *s, struct lane *lane, uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		while (writers_killed &&
			__atomic_load_n(writers_killed, __ATOMIC_ACQUIRE) < i * PARTS / calls)
			usleep(1000);
		fake_call(
			s, lane, clock_ticks() - 1100, 1000 + i % 100, i & 1 ? FN_READ : FN_WRITE);
	}
}

static bool is_gone(const char *path)
{
	return access(path, F_OK) && errno == ENOENT;
}

enum child_end { CHILD_EXITS, CHILD_IS_KILLED };

/* Run a child that makes `calls` calls, leaves a call open and a sum, and ends. */
static pid_t start_producer(struct fake_tree *t, uint64_t calls, enum child_end end)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct fake_spool s;
	fake_spool_make(&s, t, (uint32_t)getpid(), clock_init());
	struct lane *lane = fake_lane(&s);
	struct thread_start start = {.name = "main", .flags = THREAD_MAIN};
	fake_put_long(&s, lane, clock_ticks(), REC_THREAD_START, (uint64_t)getpid(),
		(uint64_t)getpid(), &start, sizeof(start));
	produce(&s, lane, calls);
	lane->sums[FN_READ] = (struct fn_sum){7, 700};
	lane->open = (struct open_call){.kind = FN_READ, .sp = 1, .tick = clock_ticks()};
	if (end == CHILD_IS_KILLED)
		raise(SIGKILL);
	s.header->exit_status = 3;
	s.header->end_tick = clock_ticks();
	__atomic_store_n(&s.header->state, SPOOL_EXITED, __ATOMIC_RELEASE);
	__atomic_add_fetch(&t->control->exit_requests, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&t->control->wake, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 60000 && !__atomic_load_n(&s.header->drained, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	_exit(s.header->drained ? 3 : 4);
}

static struct report report;

static void check_report(const struct fake_tree *t, uint64_t calls, pid_t pid, int end)
{
	tap(report_read(&report, t->report), "the report opens");
	tap_equal(report.bad_blocks, 0, "every block is whole");
	tap_equal(report.bad_sequence, 0, "blocks are numbered");
	tap_equal((int64_t)report.rows[EVENT_OSRT_CALL], (int64_t)calls + 1,
		"every call is recorded once, and the open one");
	tap_equal((int64_t)report.rows[EVENT_OSRT_SUMMARY], 1, "the sum is recorded");
	tap_equal((int64_t)report.header_events, (int64_t)report_rows(&report),
		"block headers count the rows");
	tap(report_strings_sound(&report), "strings have one id and are there");
	uint32_t process = report_process_of(&report, (uint32_t)pid);
	const Libtrace__Receipt *receipt = report_receipt(&report, process);
	tap(receipt != NULL, "there is a receipt");
	if (receipt) {
		tap_equal((int64_t)receipt->written, (int64_t)report_rows(&report),
			"the receipt counts the rows");
		tap_equal((int64_t)receipt->produced, (int64_t)receipt->written,
			"nothing is missing");
		tap_equal((int64_t)receipt->unfinished, 1, "the receipt counts one open call");
		tap_equal((int64_t)receipt->summarized, 7,
			"the receipt counts seven calls in the sum");
		tap_equal((int64_t)receipt->impossible_times, 0, "no time is impossible");
	}
	tap_equal(report_end_of(&report, process), end, "the end of the process is known");
	report_release(&report);
}

static void normal_exit_is_complete(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	pid_t writer = start_writer(&t);
	pid_t child = start_producer(&t, 300000, CHILD_EXITS);
	tap_equal(wait_status(child), 3,
		"the control page says that the data of the process are in the report");
	tap_equal(wait_status(writer), 0, "the writer ends with the tree");
	tap(is_gone(t.dir), "the tree's directory is gone");
	check_report(&t, 300000, child, LIBTRACE__PROCESS_END__END_EXIT);
	clean(&t);
}

static void killed_process_loses_nothing(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	t.control->compress = 1;
	pid_t writer = start_writer(&t);
	pid_t child = start_producer(&t, 100000, CHILD_IS_KILLED);
	wait_status(child);
	tap_equal(wait_status(writer), 0, "the writer ends after a killed process");
	check_report(&t, 100000, child, LIBTRACE__PROCESS_END__END_KILLED);
	clean(&t);
}

static void killed_writer_is_succeeded(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	t.control->flush_interval_ns = 1000000;
	writers_killed = check(mmap(NULL, sizeof(*writers_killed), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		"mmap");
	pid_t child = start_producer(&t, 3000000, CHILD_IS_KILLED);
	while (!__atomic_load_n(&t.control->spools, __ATOMIC_ACQUIRE))
		usleep(100); /* a writer gives a spool up that is not ready within a second */
	int kills = 0, status = 1009;
	while (status == 1009 && kills < 200) {
		pid_t writer = start_writer(&t);
		if (kills < 60) {
			usleep(3000 + (useconds_t)(kills * 700));
			kill(writer, SIGKILL);
		}
		status = wait_status(writer);
		kills++;
		__atomic_add_fetch(writers_killed, 1, __ATOMIC_RELEASE);
	}
	wait_status(child);
	munmap(writers_killed, sizeof(*writers_killed));
	writers_killed = NULL;
	printf("# %d writers\n", kills);
	char control[sizeof(t.dir) + 16];
	snprintf(control, sizeof(control), "%s/control", t.dir);
	/* The second writer finds nothing to do if the first one was killed after its last work. */
	tap(status == 0 || (status == 1 && is_gone(control)), "the last writer ends well");
	tap(kills > 3, "several writers took part");
	check_report(&t, 3000000, child, LIBTRACE__PROCESS_END__END_KILLED);
	clean(&t);
}

/* Kill the writer at its work. A process that gets no CPU for long may find that it has ended: then
 * another tree is made, at most TREES_MAX times. */
#define TREES_MAX 20
static void recover_finishes_the_report(void)
{
	struct fake_tree t;
	pid_t child;
	int status = 0;
	for (int i = 0; i < TREES_MAX && status != 1009; i++) {
		if (i)
			clean(&t);
		fake_tree_make(&t);
		child = start_producer(&t, 50000, CHILD_IS_KILLED);
		wait_status(child);
		pid_t writer = start_writer(&t);
		usleep(1000);
		kill(writer, SIGKILL);
		status = wait_status(writer);
	}
	tap_equal(status, 1009, "a writer is killed at its work");
	tap_equal(recover_quietly(t.dir, NULL), 0, "recover succeeds");
	tap(is_gone(t.dir), "and removes the tree");
	check_report(&t, 50000, child, LIBTRACE__PROCESS_END__END_KILLED);
	clean(&t);
}

static void existing_file_is_kept(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	int fd = open(t.report, O_WRONLY | O_CREAT, 0600);
	tap_equal(write(fd, "precious", 8), 8, "a file with the report's name exists");
	close(fd);
	pid_t child = start_producer(&t, 1000, CHILD_IS_KILLED);
	wait_status(child);
	tap_equal(wait_status(start_writer(&t)), 1,
		"the writer fails when it cannot create the report");
	tap_equal(t.control->writer_state, WRITER_FAILED,
		"the control page says that the writer failed");
	tap(strstr(t.control->writer_error, "exists") != NULL, "the control page says why");
	struct stat status;
	tap(!stat(t.report, &status) && status.st_size == 8, "the file is untouched");
	tap(!is_gone(t.dir), "the spools stay");
	unlink(t.report);
	tap_equal(recover_quietly(t.dir, NULL), 0, "recover succeeds when the file is gone");
	check_report(&t, 1000, child, LIBTRACE__PROCESS_END__END_KILLED);
	clean(&t);
}

/* Return the state of the first lane of the tree's only spool. */
static uint64_t lane_head(const struct fake_tree *t)
{
	char command[200];
	uint64_t head = 0;
	snprintf(command, sizeof(command), "cat %s/*.spool", t->dir);
	FILE *file = popen(command, "r");
	check(file, command);
	for (uint32_t i = 0; i < SPOOL_HEADER_BYTES; i++)
		fgetc(file);
	if (fread(&head, sizeof(head), 1, file) != 1)
		head = 0;
	pclose(file);
	return head;
}

static void short_disk_stalls_and_recovers(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	/* A limit on the file's size acts as a full disk and needs no privileges. */
	fflush(stdout);
	pid_t child = start_producer(&t, 400000, CHILD_IS_KILLED);
	pid_t writer = fork();
	if (!writer) {
		freopen("/dev/null", "w", stderr);
		signal(SIGXFSZ, SIG_IGN);
		struct rlimit limit = {600000, 600000};
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(follow_tree(t.dir, -1));
	}
	for (int i = 0; i < 60000 && t.control->sink_state != SINK_STALLED; i++)
		usleep(1000);
	tap_equal(t.control->sink_state, SINK_STALLED,
		"the control page says that the report cannot be written");
	usleep(100000); /* the producer fills its ring */
	kill(child, SIGKILL);
	wait_status(child);
	uint64_t recorded = lane_head(&t) / RECORD_BYTES - 2; /* all except the thread's start */
	tap_equal(wait_status(writer), 1, "the writer ends when the disk stays full");
	tap(report_read(&report, t.report), "the report opens");
	tap_equal(report.bad_blocks, 0, "every block is whole");
	uint64_t before = report.rows[EVENT_OSRT_CALL];
	report_release(&report);
	tap_equal(recover_quietly(t.dir, NULL), 0, "recover succeeds when there is room again");
	tap(report_read(&report, t.report), "the report opens");
	tap_equal((int64_t)report.rows[EVENT_OSRT_CALL], (int64_t)recorded,
		"the recovered report holds all that was recorded");
	tap(recorded > before, "the recovered report holds more than before");
	const Libtrace__Receipt *receipt =
		report_receipt(&report, report_process_of(&report, (uint32_t)child));
	tap(receipt && receipt->written == report_rows(&report) &&
			receipt->produced == receipt->written,
		"the receipt agrees");
	report_release(&report);
	clean(&t);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Wait until the gate has a state, for at most a minute. Returns the time when it had it, 0 for
 * never. */
static uint64_t gate_wait(const struct fake_tree *t, uint32_t state)
{
	const uint64_t end_ns = now_ns() + UINT64_C(60000000000);
	while (now_ns() < end_ns) {
		if (__atomic_load_n(&t->control->by_time.gate, __ATOMIC_ACQUIRE) == state)
			return now_ns();
		usleep(1000);
	}
	return 0;
}

/* Return when the gate of a tree with a delay and a duration, of which one is 0, has the state
 * `after`; 0 for never. */
static uint64_t gate_changes(uint64_t delay_ns, uint64_t duration_ns, uint32_t after)
{
	struct fake_tree t;
	fake_tree_make(&t);
	t.control->by_time.gate = !after;
	t.control->delay_ns = delay_ns;
	t.control->duration_ns = duration_ns;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct fake_spool s;
		fake_spool_make(&s, &t, (uint32_t)getpid(), clock_init());
		for (;;)
			pause();
	}
	pid_t writer = start_writer(&t);
	const uint64_t then_ns = gate_wait(&t, after);
	kill(child, SIGKILL);
	wait_status(child);
	tap_equal(wait_status(writer), 0, "the writer ends");
	clean(&t);
	return then_ns;
}

/* Two trees: the writer may get no CPU while a gate of one tree would be open. */
static void gate_opens_and_closes(void)
{
	const uint64_t delay_ns = 200000000, duration_ns = 300000000;
	uint64_t start_ns = now_ns(); /* the delay counts from when the tree was made */
	const uint64_t open_ns = gate_changes(delay_ns, 0, 1);
	tap(open_ns, "the gate is open after the delay");
	tap(open_ns >= start_ns + delay_ns, "and not before it is over");
	start_ns = now_ns();
	const uint64_t closed_ns = gate_changes(0, duration_ns, 0);
	tap(closed_ns, "the gate is closed after the duration");
	tap(closed_ns >= start_ns + duration_ns, "and not before it is over");
}

/* Make calls, write a byte to the pipe, and make calls again when one comes back. */
static pid_t start_victim(struct fake_tree *t, const int *fds)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct fake_spool s;
	char byte = 0;
	fake_spool_make(&s, t, (uint32_t)getpid(), clock_init());
	struct lane *lane = fake_lane(&s);
	produce(&s, lane, 1000);
	if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
		_exit(1);
	usleep(200000); /* the writer has noticed the defect, and ends the processes that it takes
			   for dead */
	produce(&s, lane, 1000);
	_exit(0);
}

/* Create, while the writer is stopped, a spool with the pid of another process. */
static pid_t start_liar(struct fake_tree *t, uint32_t pid_of_other, int done_fd)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct fake_spool s;
	fake_spool_make(&s, t, (uint32_t)getpid(), clock_init());
	s.header->pid = pid_of_other;
	if (write(done_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void a_wrong_pid_ends_no_other_process(void)
{
	struct fake_tree t;
	int fds[2][2];
	char byte;
	fake_tree_make(&t);
	if (pipe(fds[0]) || pipe(fds[1]))
		check(NULL, "pipe");
	const int there[] = {fds[0][0], fds[1][1]};
	pid_t writer = start_writer(&t), victim = start_victim(&t, there);
	tap(read(fds[1][0], &byte, 1) == 1, "a process has recorded");
	usleep(100000);
	kill(writer, SIGSTOP);
	pid_t liar = start_liar(&t, (uint32_t)victim, fds[1][1]);
	tap(read(fds[1][0], &byte, 1) == 1, "another one says that it has the same pid");
	kill(writer, SIGCONT);
	tap(write(fds[0][1], &byte, 1) == 1, "the first one goes on");
	tap_equal(wait_status(victim), 0, "and ends");
	kill(liar, SIGKILL);
	wait_status(liar);
	tap_equal(wait_status(writer), 0, "the writer ends with the tree");
	tap(report_read(&report, t.report), "the report opens");
	tap_equal((int64_t)report.rows[EVENT_OSRT_CALL], 2000,
		"all calls of the first process are recorded");
	tap(report_process_of(&report, (uint32_t)liar) != 0,
		"the other one has the pid that its file is named by");
	report_release(&report);
	for (int i = 0; i < 4; i++)
		close(fds[i / 2][i % 2]);
	clean(&t);
}

/* Check that a process killed between counting a window and storing it loses that window alone. */
static void windows_behind_a_lost_one_are_reported(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	const struct capture_spec ranges = {
		.kind = CAPTURE_LIBTRACE_API, .windows_max = CAPTURE_UNLIMITED};
	t.control->by_range.gate = 1;
	capture_init(t.control, &ranges, false, false); /* closes it: window 1 */
	t.control->by_range.window_count++;
	for (int i = 0; i < 2; i++) {
		capture_begin(t.control);
		capture_end(t.control, 1, 0);
	}
	pid_t writer = start_writer(&t);
	pid_t child = start_producer(&t, 1000, CHILD_EXITS);
	wait_status(child);
	tap_equal(wait_status(writer), 0, "the writer ends with a window that was never stored");
	tap(report_read(&report, t.report), "the report opens");
	uint64_t told = 0;
	for (uint32_t i = 0; i < report.entry_count; i++)
		if (report.entries[i]->window)
			told = told * 10 + report.entries[i]->window->number;
	tap_equal((int64_t)told, 134, "windows after it are recorded");
	report_release(&report);
	clean(&t);
}

/* ---- a machine that is suspended: the counter goes on, the clock does not ---- */

#define SUSPEND_NS UINT64_C(1000000000)
static struct suspend {
	uint64_t at_ns;  /* set by the child when it has made its first calls */
	uint64_t end_ns; /* the clock at the child's end */
} * suspend;             /* shared by all processes */

static bool clock_of_suspended(long number, const long argument[6], long *ret_result)
{
	struct timespec *time = (struct timespec *)(uintptr_t)argument[1];
	if (number != SYS_clock_gettime)
		return false;
	*ret_result = clock_gettime((clockid_t)argument[0], time);
	uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
	uint64_t at_ns = __atomic_load_n(&suspend->at_ns, __ATOMIC_ACQUIRE);
	if (ns < at_ns)
		return true;
	ns = ns - at_ns < SUSPEND_NS ? at_ns : ns - SUSPEND_NS;
	time->tv_sec = (time_t)(ns / 1000000000u);
	time->tv_nsec = (long)(ns % 1000000000u);
	return true;
}

/* Run a child with calls on both sides of the suspend, which begins when the writer is at work; it
 * reports the clock at its end. */
static void live_through_suspend(struct fake_tree *t)
{
	struct fake_spool s;
	fake_spool_make(&s, t, (uint32_t)getpid(), clock_init());
	struct lane *lane = fake_lane(&s);
	produce(&s, lane, 1000);
	for (int i = 0; i < 60000 && t->control->writer_state != WRITER_RUNNING; i++)
		usleep(1000);
	usleep(300000);
	__atomic_store_n(&suspend->at_ns, clock_monotonic_ns(), __ATOMIC_RELEASE);
	usleep((useconds_t)(SUSPEND_NS / 1000) + 600000);
	produce(&s, lane, 1000);
	struct clock_point end;
	clock_point_take(&end);
	s.header->end_tick = end.tick;
	suspend->end_ns = end.mono_ns;
	__atomic_store_n(&s.header->state, SPOOL_EXITED, __ATOMIC_RELEASE);
	_exit(0);
}

static uint64_t end_ns_of(uint32_t process)
{
	uint64_t ns = 0;
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__Process *p = report.entries[i]->process;
		ns = p && p->id == process && p->has_end_ns ? p->end_ns : ns;
	}
	return ns;
}

static void suspended_machine_is_noticed(void)
{
	struct fake_tree t;
	fake_tree_make(&t);
	suspend = check(mmap(NULL, sizeof(*suspend), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		"mmap");
	if (clock_init() != CLOCK_KIND_TSC) {
		printf("# SKIP a suspended machine: the clock is the counter here\n");
		return;
	}
	suspend->at_ns = UINT64_MAX;
	sys_override = clock_of_suspended;
	pid_t writer = start_writer(&t), child = fork();
	if (!child)
		live_through_suspend(&t);
	sys_override = NULL;
	wait_status(child);
	tap_equal(wait_status(writer), 0, "the writer ends after a suspend");
	tap(report_read(&report, t.report), "the report opens");
	uint32_t process = report_process_of(&report, (uint32_t)child);
	const Libtrace__Receipt *receipt = report_receipt(&report, process);
	uint64_t told = end_ns_of(process), end_ns = suspend->end_ns;
	uint64_t off = told > end_ns ? told - end_ns : end_ns - told;
	printf("# off by %llu ns, the bound is %llu\n", (unsigned long long)off,
		(unsigned long long)(receipt ? receipt->clock_error_ns : 0));
	tap(receipt && receipt->clock_breaks == 1, "the receipt says that the clock parted once");
	tap(receipt && off <= receipt->clock_error_ns + 2000 && off < SUSPEND_NS / 2,
		"and the end of the process lies where the clock had it");
	uint64_t breaks = 0;
	for (uint32_t i = 0; i < report.entry_count; i++)
		breaks += report.entries[i]->clock ? report.entries[i]->clock->n_breaks : 0;
	tap_equal((int64_t)breaks, 1, "the clock points say where the suspend was");
	report_release(&report);
	munmap(suspend, sizeof(*suspend));
	clean(&t);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	normal_exit_is_complete();
	killed_process_loses_nothing();
	recover_finishes_the_report();
	existing_file_is_kept();
	killed_writer_is_succeeded();
	short_disk_stalls_and_recovers();
	gate_opens_and_closes();
	windows_behind_a_lost_one_are_reported();
	suspended_machine_is_noticed();
	a_wrong_pid_ends_no_other_process();
	return tap_end();
}
