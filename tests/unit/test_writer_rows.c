/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_rows.c - tests of the rows that the writer creates from each kind of record; damaged
 * spools do no harm.
 */
#include "tests/unit/test_writer.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>

#include "common/cuda/cuda_spool.h"
#include "common/opencl_spool.h"
#include "common/schema/cuda_columns.h"
#include "common/varint.h"

#include "writer/recover.h"

static struct report report;
static uint64_t now; /* ticks of the simulated process: nanoseconds */

static int recover_quietly(const struct fake_tree *t)
{
	int status = 0;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stdout);
		freopen("/dev/null", "w", stderr);
		alarm(300);
		_exit(recover_tree(t->dir, NULL));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void clean(struct fake_tree *t)
{
	char command[400];
	snprintf(command, sizeof(command), "rm -rf %s %s", t->dir, t->report);
	if (system(command))
		perror(command);
	munmap(t->control, TREE_CONTROL_BYTES);
}

static uint32_t dead_pid(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

static uint32_t lock_fn(void)
{
	for (uint32_t fn = 0; fn < fn_count(); fn++)
		if (fn_is_lock(fn))
			return fn;
	return 0;
}

static void thread_put(
	struct fake_spool *s, struct lane *lane, uint32_t tid, uint32_t pid, uint32_t flags)
{
	struct thread_start start = {.name = "worker", .flags = flags};
	fake_put_long(s, lane, now, REC_THREAD_START, tid, pid, &start, sizeof(start));
}

/* Return the n-th batch of a kind with rows of `process` (0 = any). */
static const Libtrace__EventBatch *batch_of(enum event_kind kind, uint32_t process, uint32_t n)
{
	for (uint32_t i = 0; i < report.entry_count; i++) {
		const Libtrace__EventBatch *b = report.entries[i]->batch;
		if (b && b->kind == kind && (!process || b->process == process) && n-- == 0)
			return b;
	}
	return NULL;
}

static const char *text_of(int64_t id)
{
	for (uint32_t i = 0; i < report.entry_count; i++)
		for (size_t k = 0;
			report.entries[i]->strings && k < report.entries[i]->strings->n_ids; k++)
			if (report.entries[i]->strings->ids[k] == id) {
				static char text[256];
				const ProtobufCBinaryData *data =
					&report.entries[i]->strings->texts[k];
				snprintf(text, sizeof(text), "%.*s", (int)data->len,
					(const char *)data->data);
				return text;
			}
	return "?";
}

static const Libtrace__Process *untraced(void)
{
	for (uint32_t i = 0; i < report.entry_count; i++)
		if (report.entries[i]->process &&
			report.entries[i]->process->traced == LIBTRACE__TRACED__TRACED_NO)
			return report.entries[i]->process;
	return NULL;
}

static void fill_lane(struct fake_spool *s, struct lane *lane, uint32_t pid)
{
	thread_put(s, lane, pid, pid, THREAD_MAIN);
	fake_put(s, lane, now + 10, UINT64_C(5000) << RECORD_LENGTH_SHIFT | 60, (uint64_t)-1,
		UINT64_C(11) << 48 | 7);
	fake_put(s, lane, now + 6000, UINT64_C(2000) << RECORD_LENGTH_SHIFT | lock_fn(),
		UINT64_C(4242) << 32, 0x7f0012345678);
	fake_put(s, lane, now + 9000,
		UINT64_C(100) << RECORD_LENGTH_SHIFT | RECORD_ABANDONED << RECORD_FLAGS_SHIFT | 61,
		0, 0);
	fake_put_long(
		s, lane, now + 9100, REC_PATH, 9, UINT64_C(0x8000) << 32 | 0644, "/etc/motd", 9);
	char name[16] = "renamed";
	uint64_t a, b;
	memcpy(&a, name, 8);
	memcpy(&b, name + 8, 8);
	fake_put(s, lane, now + 9200, REC_THREAD_NAME, a, b);
	fake_put(s, lane, now + 9300, REC_GAP, (uint64_t)DROP_RING_FULL << 48 | 17, now + 9250);
	lane->dropped[DROP_RING_FULL] = 17 + 4;
	fake_put(s, lane, now + 9400, REC_SUMMARY, UINT64_C(62) << 48 | 99, 12345);
	fake_put_long(s, lane, now + 9500, REC_CHILD, 77001,
		(uint64_t)CHILD_SPAWN << 32 | VERDICT_STATIC, "/bin/static", 11);
	/* a vfork child in the parent's memory */
	thread_put(s, lane, 77002, 77002, THREAD_VFORK_CHILD);
	fake_put(s, lane, now + 9600, UINT64_C(10) << RECORD_LENGTH_SHIFT | 63, 0, 0);
	fake_put_long(s, lane, now + 9700, REC_EXEC, 0, (uint64_t)CHILD_EXEC << 32 | VERDICT_TRACED,
		"/bin/true", 9);
	thread_put(s, lane, pid, pid, THREAD_RESUMED);
	fake_put(s, lane, now + 9800, UINT64_C(10) << RECORD_LENGTH_SHIFT | 64, 0, 0);
	/* killed at the worst moment: the open call is recorded, one nested record is not */
	lane->open = (struct open_call){.kind = 64, .sp = 1, .tick = now + 9800};
	lane->nested[0] = (struct record){now + 9810,
		UINT64_C(5) << RECORD_LENGTH_SHIFT | RECORD_NESTED << RECORD_FLAGS_SHIFT | 65, 0,
		0};
	lane->nested_whole[0] = lane->nested_count = 1;
	lane->open_stack[0] = (struct open_call){.kind = 66, .sp = 1, .tick = now + 9790};
	lane->open_stack[1] =
		(struct open_call){.kind = 66 | OPEN_UNSURE, .sp = 1, .tick = now + 9795};
	lane->open_stack[2] = (struct open_call){.kind = OPEN_UNSURE, .sp = 1, .tick = now + 9796};
	lane->open_depth = 3;
	lane->gap_count = 4;
	lane->gap_reason = DROP_RING_FULL;
	lane->gap_first_tick = now + 9820;
	lane->gap_last_tick = now + 9830;
}

static void check_rows(uint32_t process, uint32_t pid)
{
	const Libtrace__EventBatch *b = batch_of(EVENT_OSRT_CALL, process, 0);
	tap(b && b->count == 3 && b->tid == pid, "three calls before the child");
	if (!b)
		return;
	tap_equal(batch_value(b, 1, 0), (int64_t)now + 10, "start");
	tap_equal(batch_value(b, 2, 0), 5000, "duration");
	tap(!strcmp(text_of(batch_value(b, 3, 0)), fn_name(60)), "function");
	tap_equal(batch_value(b, 4, 0), -1, "a call has its return value");
	tap_equal(batch_value(b, 5, 0), 11, "errno");
	tap_equal(batch_value(b, 6, 0), 7, "descriptor");
	tap_equal(batch_value(b, 7, 1), 4242, "a contended lock has its holder");
	tap_equal(batch_value(b, 4, 1), 0, "a lock has a return value of 32 bits");
	tap_equal(batch_value(b, 6, 1), 0x7f0012345678, "a lock has its address");
	tap_equal(batch_value(b, 8, 2), RECORD_ABANDONED, "flags");
	b = batch_of(EVENT_FILE_PATH, process, 0);
	tap(b && !strcmp(text_of(batch_value(b, 5, 0)), "/etc/motd") && batch_value(b, 2, 0) == 9 &&
			batch_value(b, 3, 0) == 0x8000 && batch_value(b, 4, 0) == 0644,
		"path of an open");
	b = batch_of(EVENT_THREAD_NAME, process, 0);
	tap(b && !strcmp(text_of(batch_value(b, 2, 0)), "renamed"), "name of a thread");
	b = batch_of(EVENT_GAP, process, 0);
	tap(b && batch_value(b, 3, 0) == 17 && batch_value(b, 2, 0) == 50, "gap");
	b = batch_of(EVENT_GAP, process, 1);
	tap(b && batch_value(b, 3, 0) == 4 && batch_value(b, 2, 0) == 10, "open gap");
	b = batch_of(EVENT_OSRT_SUMMARY, process, 0);
	tap(b && batch_value(b, 3, 0) == 99 && batch_value(b, 4, 0) == 12345, "sum");
	b = batch_of(EVENT_CHILD, process, 0);
	tap(b && batch_value(b, 2, 0) == 77001 && batch_value(b, 3, 0) == CHILD_SPAWN &&
			batch_value(b, 4, 0) == VERDICT_STATIC,
		"child");
	b = batch_of(EVENT_OSRT_CALL, process, 1);
	tap(b && b->count == 1, "one call after the vfork child");
	b = batch_of(EVENT_OSRT_CALL, process, 2);
	tap(b && b->count == 2 && batch_value(b, 8, 0) == RECORD_UNFINISHED &&
			batch_value(b, 8, 1) == RECORD_NESTED,
		"the interrupted call is unfinished, the nested one is there, the recorded one not "
		"again");
}

/* Create a tree with the spool of a process that has ended. Return the pid. */
static uint32_t dead_process(struct fake_tree *t, struct fake_spool *s, enum clock_kind kind)
{
	uint32_t pid = dead_pid();
	fake_tree_make(t);
	fake_spool_make(s, t, pid, kind);
	now = s->header->first.tick + 1000;
	return pid;
}

static void records_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	fill_lane(&s, fake_lane(&s), pid);
	s.header->dropped[DROP_LATE] = 2;
	tap_equal(recover_quietly(&t), 0, "recover");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid),
		 guest = report_process_of(&report, 77002);
	check_rows(process, pid);
	const Libtrace__EventBatch *b = batch_of(EVENT_OSRT_CALL, guest, 0);
	tap(guest && b && b->count == 1 && b->tid == 77002, "the vfork child's call is its own");
	tap_equal(report_end_of(&report, guest), LIBTRACE__PROCESS_END__END_EXEC,
		"the process became another program by exec");
	const Libtrace__Process *not = untraced();
	tap(not &&not ->pid == 77001 && !strcmp(not ->executable, "/bin/static") && not ->reason,
		"a child that cannot be traced is named");
	const Libtrace__Receipt *r = report_receipt(&report, process),
				*g = report_receipt(&report, guest);
	tap(r && g && r->written + g->written == report_rows(&report), "receipts count all rows");
	tap(r && r->produced == r->written + 24 && r->n_drops == 3,
		"and what is missing, also an open call that may have ended");
	tap_equal((int64_t)report.header_dropped, 21, "block headers count what gaps report");
	report_release(&report);
	clean(&t);
}

/* Check the rows of samples, of which only the first has the callchain, and the counts of the
 * process. */
static void samples_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	fake_put(&s, lane, now + 10, REC_CALLCHAIN, 5, CALLCHAIN_RULES | CALLCHAIN_IS_LOST);
	fake_put(&s, lane, now + 10, REC_CPU_SAMPLE, UINT64_C(63) << 48 | UINT64_C(60) << 32 | 2,
		20000000);
	fake_put(&s, lane, now + 20, REC_CPU_SAMPLE | (uint64_t)RECORD_NESTED << RECORD_FLAGS_SHIFT,
		1, 10000000);
	s.header->cpu = (struct cpu_counts){.hz = 97,
		.samples = 2,
		.periods = 3,
		.sampled_ns = 30000000,
		.in_tracer = 1,
		.threads = 1,
		.off = CPU_OFF_FILTER};
	tap_equal(recover_quietly(&t), 0, "recover samples");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid);
	const Libtrace__EventBatch *b = batch_of(EVENT_CPU_SAMPLE, process, 0);
	tap(b && b->count == 2 && batch_value(b, 1, 0) == (int64_t)now + 10 &&
			batch_value(b, 2, 0) == 63 && batch_value(b, 3, 0) == 2 &&
			batch_value(b, 4, 0) == 20000000 && batch_value(b, 5, 0) == 0,
		"a sample has its time, CPU, periods and processor time");
	tap(b && !strcmp(text_of(batch_value(b, 8, 0)), fn_name(60)) && batch_value(b, 8, 1) == 0,
		"and the function of the call in progress");
	tap(b && batch_value(b, 6, 0) == 5 && batch_value(b, 7, 0) == 33, "and its callchain");
	tap(b && batch_value(b, 5, 1) == RECORD_NESTED && batch_value(b, 6, 1) == 0 &&
			batch_value(b, 7, 1) == 0,
		"one in the tracer has none");
	const Libtrace__Receipt *r = report_receipt(&report, process);
	tap(r && r->cpu && r->cpu->samples == 2 && r->cpu->periods == 3 &&
			r->cpu->frequency == 97 && !r->cpu->has_process_ns && r->cpu->off &&
			strstr(r->cpu->off, "filter"),
		"the receipt has the process's counts, and why samples ended");
	report_release(&report);
	clean(&t);
}

/* Check the rows of readings at the start of a thread, whose wait for a CPU began with its
 * creation, at its end, and of a thread whose process was killed. */
static void readings_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	struct thread_time first = {.created = now - 400, .voluntary = 1, .minor_faults = 10},
			   last = {.run_delay_ns = 5000,
				   .voluntary = 2,
				   .involuntary = 3,
				   .minor_faults = 20,
				   .major_faults = 4,
				   .system_ns = 3000,
				   .instructions = 8000,
				   .cycles = 6000};
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	fake_put_long(&s, lane, now, REC_THREAD_TIME, TIME_FIRST | TIME_COUNTS, 100, &first,
		sizeof(first));
	fake_put_long(&s, lane, now + 50, REC_THREAD_TIME,
		TIME_LAST | TIME_COUNTS | TIME_DELAY | TIME_SYSTEM | TIME_COUNTERS | 0xff00, 7000,
		&last, sizeof(last));
	fake_put_long(&s, lane, now + 60, REC_THREAD_TIME, TIME_LAST, 8000, NULL, 0);
	lane->end_tick = now + 70;
	lane->end_cpu_ns = 9000;
	lane->end_delay_ns = 6000;
	lane->end_instructions = 90;
	lane->end_cycles = 80;
	s.header->end_tick = now + 80;
	s.header->state = SPOOL_EXITED;
	s.header->thread_time = (struct thread_time_counts){.is_on = 1, .threads = 1, .inexact = 2};
	tap_equal(recover_quietly(&t), 0, "recover readings");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid);
	const Libtrace__EventBatch *b = batch_of(EVENT_THREAD_TIME, process, 0);
	tap(b && b->count == 3 && batch_value(b, 1, 0) == (int64_t)now &&
			batch_value(b, 2, 0) == (TIME_FIRST | TIME_COUNTS | TIME_DELAY) &&
			batch_value(b, 3, 0) == 100 && batch_value(b, 4, 0) == 300 &&
			batch_value(b, 5, 0) == 1 && batch_value(b, 7, 0) == 10,
		"a new thread waited for a CPU since its creation");
	tap(b &&
			batch_value(b, 2, 1) ==
				(TIME_LAST | TIME_COUNTS | TIME_DELAY | TIME_SYSTEM |
					TIME_COUNTERS) &&
			batch_value(b, 3, 1) == 7000 && batch_value(b, 4, 1) == 5000 &&
			batch_value(b, 5, 1) == 2 && batch_value(b, 6, 1) == 3 &&
			batch_value(b, 7, 1) == 20 && batch_value(b, 8, 1) == 4 &&
			batch_value(b, 9, 1) == 3000 && batch_value(b, 10, 1) == 8000 &&
			batch_value(b, 11, 1) == 6000,
		"its end has all counters, and no flag that is not its own");
	tap(b && batch_value(b, 2, 2) == TIME_LAST && batch_value(b, 4, 2) == 0,
		"a record without payload says that nothing else is known");
	b = batch_of(EVENT_THREAD_TIME, process, 1);
	tap(b && b->count == 1 && batch_value(b, 1, 0) == (int64_t)now + 70 &&
			batch_value(b, 2, 0) == (TIME_LAST | TIME_DELAY | TIME_COUNTERS) &&
			batch_value(b, 3, 0) == 9000 && batch_value(b, 4, 0) == 6000 &&
			batch_value(b, 10, 0) == 90 && batch_value(b, 11, 0) == 80,
		"a thread that was ended has the reading of the one that ended it");
	const Libtrace__Receipt *r = report_receipt(&report, process);
	tap(r && r->thread_time && r->thread_time->threads == 1 && r->thread_time->inexact == 2 &&
			r->produced == r->written,
		"the receipt has the process's counts");
	report_release(&report);
	clean(&t);
}

/* Check the row of a wait for the GIL, which follows its last call. */
static void waits_for_the_gil_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	fake_put(&s, lane, now, UINT64_C(500) << RECORD_LENGTH_SHIFT | 60, 110, 0x1000);
	fake_put(&s, lane, now - 5000, REC_GIL_WAIT, UINT64_C(1) << 48 | 5500,
		UINT64_C(77) << 32 | 9);
	fake_put(&s, lane, UINT64_MAX, REC_GIL_WAIT, UINT64_MAX, UINT64_MAX);
	s.header->end_tick = now + 80;
	s.header->state = SPOOL_EXITED;
	tap_equal(recover_quietly(&t), 0, "recover waits for the GIL");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid);
	const Libtrace__EventBatch *b = batch_of(EVENT_GIL_WAIT, process, 0);
	tap(b && b->count == 2 && batch_value(b, 1, 0) == (int64_t)now - 5000 &&
			batch_value(b, 2, 0) == 5500 && batch_value(b, 3, 0) == 77 &&
			batch_value(b, 4, 0) == 9 && batch_value(b, 5, 0) == 1,
		"a wait for the GIL has its length, holder and callchain");
	tap(b && (int64_t)batch_value(b, 2, 1) >= 0, "and a wait that cannot be has a length");
	b = batch_of(EVENT_OSRT_CALL, process, 0);
	tap(b && b->count == 1, "its call is a call as any other");
	report_release(&report);
	clean(&t);
}

/* ---- OpenCL ---- */

/* A command that was queued 100 ns after its call began, by a clock that began at `epoch`. */
static struct opencl_command command_of(uint32_t clock, uint64_t epoch, uint32_t number)
{
	struct opencl_command c = {.call_tick = now,
		.call_end_tick = now + 1000,
		.clock_tick = now + 90000,
		.clock_ns = {1, 2, 3},
		.queued = epoch + 100,
		.submitted = epoch + 200,
		.start = epoch + 5000,
		.end = epoch + 7000,
		.type = 0x11f3,
		.operation = 2,
		.bytes = 4096,
		.number = number,
		.tid = 77};
	if (clock)
		c.clock_ns[clock - 1] = epoch + 90000;
	return c;
}

/* Check that times of commands are converted from the clock that fits, and that records which
 * cannot be have no rows. */
static void commands_become_rows(void)
{
	static const uint64_t row[] = {5, 0xabc, 2, 0xdef, 1, 2, 1, 99};
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	const uint64_t queue = (uint64_t)EVENT_OPENCL_QUEUE << 32;
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	for (uint32_t i = 0; i < 4; i++) {
		struct opencl_command c = command_of(i, UINT64_C(1) << 50, i + 1);
		fake_put_long(&s, lane, now, REC_OPENCL_COMMAND, 0, 0, &c, sizeof(c));
	}
	struct opencl_command failed = {.call_tick = now, .call_end_tick = now, .status = -5};
	fake_put_long(&s, lane, now, REC_OPENCL_COMMAND, 0, 0, &failed, sizeof(failed));
	fake_put_long(&s, lane, now + 3, REC_ROW, queue, 0, row, 7 * sizeof(row[0]));
	static const uint64_t past[] = {1000, 0, 0, 17, 600};
	const uint64_t workload = (uint64_t)EVENT_VULKAN_WORKLOAD << 32;
	fake_put_long(&s, lane, now + 5000, REC_PAST_ROW, workload, 700, past, sizeof(past));
	fake_put_long(&s, lane, now + 5000, REC_PAST_ROW, workload, 700, past, sizeof(past[0]));
	s.header->end_tick = now + 100000;
	s.header->state = SPOOL_EXITED;
	tap_equal(recover_quietly(&t), 0, "recover commands of OpenCL");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid);
	const Libtrace__EventBatch *b = batch_of(EVENT_OPENCL_COMMAND, process, 0);
	const uint32_t clocks[] = {
		OPENCL_OTHER_CLOCK, OPENCL_MONOTONIC_RAW, OPENCL_MONOTONIC, OPENCL_REALTIME};
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t begin = now + (i ? 0 : (uint64_t)-100); /* queued when the call began */
		tap(b && b->count == 5 &&
				batch_value(b, 1 + OPENCL_COMMAND_START, i) ==
					(int64_t)(begin + 5000) &&
				batch_value(b, 1 + OPENCL_COMMAND_DURATION, i) == 2000 &&
				batch_value(b, 1 + OPENCL_COMMAND_SINCE_QUEUED, i) == 4900 &&
				batch_value(b, 1 + OPENCL_COMMAND_SINCE_SUBMITTED, i) == 4800 &&
				batch_value(b, 1 + OPENCL_COMMAND_CLOCK, i) == clocks[i] &&
				batch_value(b, 1 + OPENCL_COMMAND_CORRELATION_ID, i) == i + 1,
			"a command has its times, by the clock that fits its call");
	}
	tap(b && batch_value(b, 1 + OPENCL_COMMAND_START, 4) == (int64_t)now &&
			!batch_value(b, 1 + OPENCL_COMMAND_CLOCK, 4) &&
			batch_value(b, 1 + OPENCL_COMMAND_STATUS, 4) == -5,
		"a command that failed has none");
	b = batch_of(EVENT_OPENCL_QUEUE, process, 0);
	tap(b && b->count == 1 && batch_value(b, 1 + OPENCL_QUEUE_STREAM_ID, 0) == 5 &&
			batch_value(b, 1 + OPENCL_QUEUE_PROFILING, 0) == 1,
		"a queue has its columns");
	b = batch_of(EVENT_VULKAN_WORKLOAD, process, 0);
	tap(b && b->count == 1 &&
			batch_value(b, 1 + VULKAN_WORKLOAD_START, 0) == (int64_t)(now + 4000) &&
			batch_value(b, 1 + VULKAN_WORKLOAD_DURATION, 0) == 700 &&
			batch_value(b, 1 + VULKAN_WORKLOAD_CALL_TID, 0) == 17,
		"a row that began before its record has its times; without columns there is none");
	report_release(&report);
	clean(&t);
}

/* ---- calls of functions of libraries ---- */

#define FUNCTION_NAMES 40u
#define FUNCTION_CALLS 5000u

/* Store the names of a library and of its functions; return their reference in records. */
static void names_put(struct fake_spool *s, uint64_t *ret_names)
{
	uint64_t base = (fake_take(s, 4096 * 2) + 4095) / 4096 * 4096;
	for (uint32_t i = 0; i <= FUNCTION_NAMES; i++) {
		struct nvtx_text *name = (void *)(s->map + base + i * 64u);
		sprintf(name->text, i ? "call_%u" : "libcalls.so", i);
		name->bytes = (uint32_t)strlen(name->text);
		if (i)
			ret_names[i - 1] =
				base / NVTX_NAME_UNIT << 32 | (base + i * 64u) / NVTX_NAME_UNIT;
	}
}

/* Put the calls in a lane: some with callchains, some left, some between calls of the OS
 * runtime. */
static void function_calls_put(struct fake_spool *s, struct lane *lane)
{
	uint64_t names[FUNCTION_NAMES];
	names_put(s, names);
	for (uint32_t i = 0; i < FUNCTION_CALLS; i++) {
		uint64_t flags = i % 500 == 3 ? RECORD_ABANDONED : 0;
		if (i % 1000 == 7)
			fake_put(s, lane, now + i, REC_CALLCHAIN, 5 + i, CALLCHAIN_RULES);
		if (i % 1500 == 11)
			fake_call(s, lane, now + i, 5, 60);
		fake_put(s, lane, now + i,
			(uint64_t)(i % 90) << RECORD_LENGTH_SHIFT | flags << RECORD_FLAGS_SHIFT |
				(REC_FUNCTION + i % 256),
			UINT64_MAX - i, names[i < 2500 ? 0 : i % FUNCTION_NAMES]);
	}
}

/* Return the number of calls whose row is not as their record. */
static uint32_t wrong_calls(uint32_t process)
{
	uint32_t call = 0, wrong = 0;
	const Libtrace__EventBatch *b;
	for (uint32_t n = 0; (b = batch_of(EVENT_FUNCTION_CALL, process, n)); n++)
		for (uint32_t row = 0; row < b->count; row++, call++) {
			uint32_t i = call, chain = i % 1000 == 7 ? 5 + i : 0;
			char name[40];
			sprintf(name, "call_%u", i < 2500 ? 1 : 1 + i % FUNCTION_NAMES);
			wrong += batch_value(b, 1, row) != (int64_t)now + i ||
				batch_value(b, 2, row) != i % 90 ||
				strcmp(text_of(batch_value(b, 3, row)), name) != 0 ||
				strcmp(text_of(batch_value(b, 4, row)), "libcalls.so") != 0 ||
				(uint64_t)batch_value(b, 5, row) != UINT64_MAX - i ||
				batch_value(b, 6, row) != i % 256 ||
				batch_value(b, 7, row) != (i % 500 == 3) ||
				(uint32_t)batch_value(b, 8, row) != chain ||
				(chain && batch_value(b, 9, row) != CALLCHAIN_RULES);
		}
	return wrong;
}

/* Check that each call of a library's function has its row, whatever its neighbors are. */
static void calls_of_functions_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	function_calls_put(&s, lane);
	fake_put(&s, lane, now + FUNCTION_CALLS, REC_FUNCTION, 0, UINT64_C(77) << 32 | 99999);
	s.header->end_tick = now + 100000;
	s.header->state = SPOOL_EXITED;
	tap_equal(recover_quietly(&t), 0, "recover calls of functions");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	uint32_t process = report_process_of(&report, pid);
	const Libtrace__Receipt *r = report_receipt(&report, process);
	tap_equal((int64_t)report.rows[EVENT_FUNCTION_CALL], FUNCTION_CALLS + 1,
		"each call has a row");
	tap_equal((int64_t)report.rows[EVENT_OSRT_CALL], 4, "and so have calls between them");
	tap_equal(wrong_calls(process), 1, "all rows are as their records, but for the last one");
	tap(r && r->abandoned == FUNCTION_CALLS / 500, "calls that were left are counted");
	report_release(&report);
	clean(&t);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* Record rows of the device and a call of each kind: every event of cuda.def, with all columns set.
 */
static void cuda_put(struct fake_spool *s, struct lane *lane)
{
	const struct cuda_call call = {.context = 1, .cbid = 211, .api = 0};
	uint64_t tick = now + 10000;
	for (uint32_t event = NUMBER_CUDA_KERNEL; event < NUMBER_END; event++) {
		const struct cuda_column *columns = cuda_columns_of(event);
		uint8_t payload[CUDA_COLUMNS_MAX * VARINT_MAX], *p = payload;
		if (!columns)
			continue; /* the number of another source's event */
		uint32_t first = cuda_columns_first(columns), count = 0;
		for (uint32_t i = first; i <= CUDA_COLUMNS_MAX && columns[i].encoding; i++, count++)
			p = varint_put(p, cuda_column_is_text(&columns[i]) ? 0 : i);
		fake_put_long(s, lane, tick += 10, REC_CUDA_API, (uint64_t)event << 32, 5, &call,
			sizeof(call));
		fake_put_long(s, lane, tick += 10, REC_CUDA_ROW, (uint64_t)event << 32 | count, 7,
			payload, (uint64_t)(p - payload));
	}
}

/* Store code of a module: a cubin without sections, in pieces of 16 bytes. The pieces of `missing`
 * are left out. */
static void cubin_put(struct fake_spool *s, struct lane *lane, uint64_t hash, uint32_t missing)
{
	Elf64_Ehdr elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
		.e_machine = 190,
		.e_shoff = 8,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 60000};
	uint64_t tick = now + 10000;
	for (uint32_t i = 0; i < sizeof(elf) / 16; i++) {
		struct {
			struct cuda_cubin head;
			uint8_t bytes[16];
		} piece = {.head = {.total_bytes = sizeof(elf), .offset = (uint64_t)i * 16}};
		memcpy(piece.bytes, (const uint8_t *)&elf + (size_t)i * 16, 16);
		if (!(missing >> i & 1))
			fake_put_long(s, lane, tick += 10, REC_CUDA_CUBIN, hash, 0, &piece,
				sizeof(piece));
	}
}

static void code_is_kept_whole_or_not_at_all(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC), diagnostics = 0;
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	cubin_put(&s, lane, 0x100, 0);
	cubin_put(&s, lane, 0x100, 0); /* the same cubin again: it is stored already */
	cubin_put(&s, lane, 0x200, 2);
	cubin_put(&s, lane, 0x300, 1);
	cubin_put(&s, lane, 0x400, 8);
	cubin_put(&s, lane, 0x500, 0);
	tap_equal(recover_quietly(&t), 0, "recover a spool with code of modules");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	tap_equal(report.sources, 2, "a cubin that arrived whole is written once");
	for (uint32_t i = 0; i < report.entry_count; i++)
		diagnostics += report.entries[i]->diagnostic &&
			strstr(report.entries[i]->diagnostic->text, "code of 3 modules");
	tap_equal(diagnostics, 1, "one diagnostic counts the cubins that did not");
	const Libtrace__Receipt *r = report_receipt(&report, report_process_of(&report, pid));
	tap(r && r->produced == r->written, "pieces are no events");
	report_release(&report);
	clean(&t);
}

static void cuda_rows_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t kinds = 0, missing = 0;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	cuda_put(&s, lane);
	tap_equal(recover_quietly(&t), 0, "recover a spool with rows of CUDA");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	for (uint32_t event = NUMBER_CUDA_KERNEL; event < NUMBER_END; event++)
		if (cuda_columns_of(event)) {
			kinds++;
			missing += report.rows[event] < 1;
		}
	tap_equal(missing, 0, "every kind of CUDA event has a row");
	tap_equal((int64_t)report.rows[EVENT_CUDA_API], kinds, "all CUDA calls have a row");
	const Libtrace__EventBatch *b = batch_of(EVENT_CUDA_KERNEL, 0, 0);
	tap(b && batch_value(b, COLUMN_CUDA_KERNEL_GRID_Z, 0) == COLUMN_CUDA_KERNEL_GRID_Z &&
			batch_value(b, COLUMN_CUDA_KERNEL_DURATION, 0) == 7,
		"columns have their values");
	report_release(&report);
	clean(&t);
}

static void damage(struct fake_spool *s, uint32_t kind)
{
	static const uint64_t values[] = {0, 1, 4096, 65536, UINT32_MAX, UINT64_MAX,
		UINT64_MAX - 4095, UINT64_C(1) << 63, 25 * 4096};
	uint64_t limit = s->header->next_offset;
	uint64_t begin = kind == 0 ? offsetof(struct spool_header, pid)
		: kind == 1        ? SPOOL_HEADER_BYTES
				   : SPOOL_HEADER_BYTES + LANE_BYTES;
	uint64_t end = kind == 0 ? sizeof(struct spool_header)
		: kind == 1      ? SPOOL_HEADER_BYTES + 2600
				 : limit;
	for (uint64_t n = 1 + random_next() % 40; n--;) {
		uint64_t at = begin + random_next() % (end - begin) / 8 * 8;
		uint64_t value = random_next() & 1
			? random_next()
			: values[random_next() % (sizeof(values) / sizeof(values[0]))];
		memcpy(s->map + at, &value, random_next() & 1 ? 8 : 1);
	}
}

static void damaged_spools_harm_nobody(void)
{
	int bad = 0, unreadable = 0;
	for (uint32_t i = 0; i < 120; i++) {
		struct fake_tree t;
		struct fake_spool s;
		uint32_t pid = dead_process(&t, &s, i & 1 ? CLOCK_KIND_MONOTONIC : clock_init());
		for (int lanes = 0; lanes < 3; lanes++) {
			struct lane *lane = fake_lane(&s);
			fill_lane(&s, lane, pid);
			function_calls_put(&s, lane);
			for (int k = 0; k < 40; k++)
				cuda_put(&s, lane);
			cubin_put(&s, lane, 0x100, 0);
			cubin_put(&s, lane, 0x200, (uint32_t)random_next());
			for (int k = 0; k < 3000; k++)
				fake_call(&s, lane, now + 10000 + (uint64_t)k * 10, 5,
					(uint32_t)k % fn_count());
		}
		damage(&s, i % 3);
		s.header->pid = pid;
		s.header->pid_namespace = s.header->pid_namespace ? s.header->pid_namespace : 1;
		if (i % 10 == 9 && truncate(s.path, 4096 * (6 + (off_t)(random_next() % 30))))
			perror("truncate");
		int status = recover_quietly(&t);
		if (status != 0 && status != 1) {
			printf("# damage %u: status %d\n", i, status);
			bad++;
		}
		unreadable += !report_read(&report, t.report) || report.bad_blocks;
		report_release(&report);
		clean(&t);
		munmap(s.map, FAKE_SPOOL_BYTES);
	}
	tap_equal(bad, 0, "120 damaged spools cause no crash and no hang");
	tap_equal(unreadable, 0, "every report of a damaged spool opens");
}

/* Continue a report in which code of modules precedes our entries: the writer finds the processes
 * after it. */
static void a_report_with_code_is_gone_on_with(void)
{
	struct fake_tree first, second;
	struct fake_spool s;
	uint32_t pid = dead_process(&first, &s, CLOCK_KIND_MONOTONIC);
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	for (uint64_t hash = 0x100; hash < 0x1000; hash += 0x100)
		cubin_put(&s, lane, hash, 0);
	const struct tree_control control = *first.control;
	const uint32_t first_pid = pid;
	tap_equal(recover_quietly(&first), 0, "a report with the code of a module is written");
	munmap(s.map, FAKE_SPOOL_BYTES);
	pid = dead_process(&second, &s, CLOCK_KIND_MONOTONIC);
	lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	second.control->created_mono_ns = control.created_mono_ns;
	second.control->created_realtime_ns = control.created_realtime_ns;
	memcpy(second.control->output, control.output, sizeof(control.output));
	tap_equal(recover_quietly(&second), 0, "a report with the code of a module is continued");
	tap(report_read(&report, first.report) && !report.bad_blocks && report.sources == 15,
		"the report has both");
	tap(report_strings_sound(&report), "texts have one id");
	tap(report_process_of(&report, first_pid) == 1 && report_process_of(&report, pid) == 2,
		"so have processes");
	report_release(&report);
	clean(&second);
	clean(&first);
	munmap(s.map, FAKE_SPOOL_BYTES);
}

static void the_receipt_reports_damaged_lanes(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC);
	struct lane *sound = fake_lane(&s), *broken = fake_lane(&s);
	for (int k = 0; k < 10; k++) {
		fake_call(&s, sound, now + (uint64_t)k * 10, 5, 1);
		fake_call(&s, broken, now + (uint64_t)k * 10, 5, 1);
	}
	broken->head = UINT64_C(1) << 46; /* no lane can contain so much */
	tap_equal(recover_quietly(&t), 0, "a spool with a damaged lane is recovered");
	tap_equal(report_read(&report, t.report), true, "the report of a damaged lane opens");
	const Libtrace__Receipt *receipt = report_receipt(&report, report_process_of(&report, pid));
	tap_equal(receipt ? (int64_t)receipt->damaged_lanes : -1, 1,
		"the receipt says how many records were damaged");
	report_release(&report);
	clean(&t);
	munmap(s.map, FAKE_SPOOL_BYTES);
}

/* Leave twice as many ranges open in one lane as a batch has rows. */
static void all_open_ranges_become_rows(void)
{
	struct fake_tree t;
	struct fake_spool s;
	uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC), wrong = 0;
	struct lane *lane = fake_lane(&s);
	thread_put(&s, lane, pid, pid, THREAD_MAIN);
	for (uint32_t n = 0; n < NVTX_SPANS_MAX; n++) {
		uint32_t number = n / NVTX_SPANS_PER_CHUNK;
		if (n % NVTX_SPANS_PER_CHUNK == 0)
			s.header->nvtx_span_chunk[number] = fake_take(&s, CHUNK_BYTES);
		struct nvtx_span *spans = (void *)(s.map + s.header->nvtx_span_chunk[number]);
		spans[n % NVTX_SPANS_PER_CHUNK] = (struct nvtx_span){.id = n + 1,
			.tick = now + n,
			.tid = pid,
			.attributes = {.category = n + 2, .payload_type = 1, .payload = n + 3}};
	}
	tap_equal(recover_quietly(&t), 0, "recover a spool full of open ranges");
	tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
	tap_equal((int64_t)report.rows[EVENT_NVTX_START_END], NVTX_SPANS_MAX,
		"all open ranges become rows");
	uint32_t process = report_process_of(&report, pid), n = 0;
	for (uint32_t i = 0; i < 2; i++) {
		const Libtrace__EventBatch *b = batch_of(EVENT_NVTX_START_END, process, i);
		for (uint32_t row = 0; b && row < b->count; row += 7, n += 7)
			wrong += batch_value(b, NVTX_START_END_RANGE_ID + 1, row) != n + 1 ||
				batch_value(b, NVTX_START_END_PAYLOAD + 1, row) != n + 3;
		n = b ? b->count : 0;
	}
	tap_equal(wrong, 0, "each open range has its own values");
	const Libtrace__Receipt *r = report_receipt(&report, process);
	tap(r && r->produced == r->written && r->unfinished == NVTX_SPANS_MAX, "and counted");
	report_release(&report);
	clean(&t);
	munmap(s.map, FAKE_SPOOL_BYTES);
}

/* The writer compares the process's own counts with the records that it read. */
enum wrong_count { NOTHING, HEAD, GAPS, CUDA_ROWS, NAMES, SPOOLS, WRONG_COUNTS };

static void count_falsify(
	struct fake_tree *t, struct fake_spool *s, struct lane *lane, enum wrong_count wrong)
{
	struct cuda_page *page;
	struct lane *device;
	uint64_t names;
	switch (wrong) {
	case HEAD: /* five records that were never stored */
		lane->head += UINT64_C(5) * RECORD_BYTES;
		break;
	case GAPS:
		fake_put(s, lane, now + 9300, REC_GAP, (uint64_t)DROP_RING_FULL << 48 | 5, now);
		break;
	case CUDA_ROWS: /* none of the five rows is in the lane, but the receipt's row is */
		s->header->cuda_offset = fake_take(s, CUDA_PAGE_BYTES);
		page = (void *)(s->map + s->header->cuda_offset);
		page->records = page->rows = 6;
		device = fake_lane(s);
		device->state = LANE_DEVICE;
		device->tid = 0;
		break;
	case NAMES: /* nodes that overlap, in a page of the file, and extend past its data */
		names = fake_take(s, 4096 + 65536);
		for (uint32_t i = 0; i < 512; i++)
			s->map[names + i * 8 + 1] = 0xf0;
		for (uint32_t i = 0; i < 512; i++)
			fake_put(s, lane, now + 9400 + i, REC_NVTX_MARK,
				(names + i * 8) / NVTX_NAME_UNIT, 0);
		break;
	case SPOOLS:
		t->control->spools++;
		break;
	default:
		break;
	}
}

static void what_does_not_meet_is_reported(void)
{
	static const char *const names[] = {
		"sound", "a head", "gaps", "rows of CUDA", "names", "spools"};
	for (enum wrong_count wrong = NOTHING; wrong < WRONG_COUNTS; wrong++) {
		struct fake_tree t;
		struct fake_spool s;
		uint32_t pid = dead_process(&t, &s, CLOCK_KIND_MONOTONIC), lines = 0;
		struct lane *lane = fake_lane(&s);
		thread_put(&s, lane, pid, pid, THREAD_MAIN);
		for (int k = 0; k < 100; k++)
			fake_call(&s, lane, now + (uint64_t)k * 10, 5, 1);
		count_falsify(&t, &s, lane, wrong);
		tap_equal(recover_quietly(&t), 0, names[wrong]);
		tap(report_read(&report, t.report) && !report.bad_blocks, "the report opens");
		tap_equal((int64_t)report.rows[EVENT_OSRT_CALL], 100,
			"the report has the records that were stored");
		const Libtrace__Receipt *r =
			report_receipt(&report, report_process_of(&report, pid));
		uint64_t lost = r ? r->unaccounted : UINT64_MAX;
		for (uint32_t i = 0; i < report.entry_count; i++)
			lines += report.entries[i]->diagnostic &&
				strstr(report.entries[i]->diagnostic->text, "unaccounted for");
		if (wrong == NOTHING || wrong == SPOOLS)
			tap(!lost && !lines, "nothing of the process is missing");
		else
			tap((wrong == NAMES ? lost > 100 : lost == 5) && lines == 1,
				"the receipt and a line say how much is unaccounted for");
		const Libtrace__Process *p = untraced();
		tap((wrong == SPOOLS) == (p && p->reason && strstr(p->reason, "1 of 2 spools")),
			"only the process that was not found is reported");
		report_release(&report);
		clean(&t);
		munmap(s.map, FAKE_SPOOL_BYTES);
	}
}

int main(void)
{
	what_does_not_meet_is_reported();
	all_open_ranges_become_rows();
	records_become_rows();
	samples_become_rows();
	readings_become_rows();
	waits_for_the_gil_become_rows();
	commands_become_rows();
	calls_of_functions_become_rows();
	cuda_rows_become_rows();
	code_is_kept_whole_or_not_at_all();
	a_report_with_code_is_gone_on_with();
	the_receipt_reports_damaged_lanes();
	damaged_spools_harm_nobody();
	return tap_end();
}
