/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readings.c - readings of the kernel's counters of threads as rows.
 *
 * /proc/PID/task/TID/schedstat has the processor time of a thread, the time that it was runnable
 * without a CPU, and how often it ran. Every user may read it, also that of a process that is not
 * dumpable. The file stays open while its thread lives, up to KEPT_MAX files.
 */
#define _GNU_SOURCE
#include "writer/sched/readings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/machine/time.h"
#include "writer/base/output.h"
#include "writer/sched/waits.h"
#include "writer/spool/liveness.h"

#define LOOK_NS UINT64_C(90000000) /* a little less than the writer's long sleep */
#define SHARE UINT64_C(1000)       /* one in so many parts of the time may be spent on readings */
#define MACHINE_NS UINT64_C(1000000000) /* least interval of readings of the machine */
#define KEPT_MAX 256u

/* The thread of a lane, as last read. */
struct look {
	uint32_t tid;
	int file; /* 1 + the descriptor; 0 = not kept */
	uint64_t row_ns, cpu_ns, delay_ns;
	uint64_t asked_ns; /* when it was last asked what it waits for; 0 = never */
	bool stopped;      /* in the last row */
};

struct readings {
	struct look *looks; /* one for each lane */
	uint32_t count;
	uint64_t due_ns, looked_ns;
	uint64_t machine_row_ns;  /* when the machine was last read; 0 = never */
	uint64_t steal_before_ns; /* steal when it was first read */
};

static uint32_t kept; /* files that are open */

static void look_forget(struct look *look)
{
	if (look->file) {
		close(look->file - 1);
		kept--;
	}
	*look = (struct look){0};
}

static void readings_release(void *data)
{
	struct readings *r = data;
	for (uint32_t i = 0; i < r->count; i++)
		look_forget(&r->looks[i]);
	free(r->looks);
}

/* ---- reading ---- */

/* Read the file of a thread. Return 0 or a negative errno. */
static int file_read(struct look *look, uint32_t pid, uint64_t *ret_cpu, uint64_t *ret_delay)
{
	char path[64], text[96];
	uint64_t times_run = 0;
	int fd = look->file - 1;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, look->tid);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);
	int error = bytes < 0 ? -errno : 0;
	if (!look->file && !error && kept < KEPT_MAX) {
		look->file = fd + 1;
		kept++;
	} else if (!look->file) {
		close(fd);
	}
	text[bytes > 0 ? bytes : 0] = 0;
	if (!error &&
		sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, ret_cpu, ret_delay, &times_run) !=
			3)
		error = -EIO;
	return error ? error : times_run ? 0 : -ENODATA;
}

static const char *off_text(int error)
{
	return error == -EACCES || error == -EPERM
		? "/proc does not show the process to the writer (hidepid)"
		: error == -ENODATA ? "the kernel does not count (schedstat is all zeros)"
				    : NULL;
}

static bool is_stopped(const struct spool *spool)
{
	char state = '?';
	uint64_t start_ns;
	return !process_stat(spool->host_pid, &state, &start_ns) && (state == 'T' || state == 't');
}

static void row_put(struct writer *w, struct spool *spool, struct lane_view *view,
	const struct look *look, uint64_t ns)
{
	struct batch *b = w->rows.batches[EVENT_THREAD_TIME];
	if (!batch_row_add(b, ns))
		return;
	batch_set(b, THREAD_TIME_FLAGS, TIME_DELAY | (look->stopped ? TIME_STOPPED : 0));
	batch_set(b, THREAD_TIME_CPU_TIME, look->cpu_ns);
	batch_set(b, THREAD_TIME_RUN_DELAY, look->delay_ns);
	spool->readings++;
	lane_rows_put(w, spool, view, b, look->tid, ns, ns);
}

/* Return how long the process has run. Its start is read from shared memory, which may hold
 * anything. */
static uint64_t age_ns(const struct spool *spool, uint64_t now)
{
	return now > spool->start_ns ? now - spool->start_ns : 0;
}

/* Add a row if the thread sleeps and has no recorded call in progress. */
static int wait_ask(
	struct writer *w, struct spool *spool, struct lane_view *view, struct look *look)
{
	const struct lane *lane = lane_of(spool, view);
	struct wait wait;
	uint64_t now = clock_monotonic_ns(), since = look->asked_ns;
	if (!since)
		since = now - (age_ns(spool, now) < LOOK_NS ? age_ns(spool, now) : LOOK_NS);
	look->asked_ns = now;
	if (!lane || !spool_is_proven(spool, now) ||
		__atomic_load_n(&lane->open.sp, __ATOMIC_RELAXED) ||
		!wait_look(spool->host_pid, look->tid, &wait))
		return 0;
	int error = writer_make_room(w);
	struct batch *b = w->rows.batches[EVENT_WAIT_LOOK];
	if (error || !batch_row_add(b, now))
		return error;
	batch_set(b, WAIT_LOOK_STANDS_FOR, now - since);
	batch_set(b, WAIT_LOOK_SYSTEM_CALL,
		strings_id(&w->report.strings, wait.system_call, strlen(wait.system_call)));
	batch_set(b, WAIT_LOOK_KERNEL_FUNCTION,
		strings_id(&w->report.strings, wait.kernel, strlen(wait.kernel)));
	batch_set(b, WAIT_LOOK_ADDRESS, wait.pc);
	spool->looks++;
	lane_rows_put(w, spool, view, b, look->tid, now, now);
	return 0;
}

/* Return the thread that has the lane; 0 = none whose counters are to be read. */
static uint32_t thread_of(struct spool *spool, const struct lane_view *view)
{
	const struct lane *lane = view->closed ? NULL : lane_of(spool, view);
	if (!lane || __atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) != LANE_LEASED ||
		!__atomic_load_n(&lane->thread_tick, __ATOMIC_RELAXED))
		return 0;
	return __atomic_load_n(&lane->tid, __ATOMIC_RELAXED);
}

/*
 * Read the counters of the lane's thread, and ask what it waits for. A row is written if they have
 * changed, or if it sleeps, and the last such row is older than a thousandth of the process's life,
 * so that a day's rows are bounded.
 */
static int lane_look(struct writer *w, struct spool *spool, struct readings *r, uint32_t index,
	bool is_last, bool *ret_ran)
{
	struct lane_view *view = spool->lanes[index];
	struct look *look = &r->looks[index];
	uint64_t cpu_ns, delay_ns, now = clock_monotonic_ns();
	uint32_t tid = thread_of(spool, view);
	if (tid != look->tid)
		look_forget(look);
	uint64_t least_ns = is_last ? 0 : age_ns(spool, now) / SHARE;
	bool ask_is_due = !is_last && now - look->asked_ns >= least_ns,
	     row_is_due = now - look->row_ns >= least_ns;
	if (!tid || (!row_is_due && !ask_is_due))
		return 0;
	look->tid = tid;
	int error = file_read(look, spool->host_pid, &cpu_ns, &delay_ns);
	now = clock_monotonic_ns();
	if (error) {
		look_forget(look); /* usually, the thread has ended */
		spool->readings_off = off_text(error);
		return 0;
	}
	error = ask_is_due ? wait_ask(w, spool, view, look) : 0;
	if (error || (cpu_ns == look->cpu_ns && delay_ns == look->delay_ns))
		return error;
	*ret_ran = true;
	if (!row_is_due)
		return 0;
	error = writer_make_room(w);
	if (error || thread_of(spool, view) != tid)
		return error;
	look->row_ns = now;
	look->cpu_ns = cpu_ns;
	look->delay_ns = delay_ns;
	look->stopped = false;
	row_put(w, spool, view, look, now);
	return 0;
}

/* Add rows if the process is stopped; called if none of its threads has run since the look before
 * this one, so each has been stopped since then. */
static int stop_look(struct writer *w, struct spool *spool, struct readings *r, uint64_t since_ns)
{
	int error = 0;
	if (!is_stopped(spool))
		return 0;
	for (uint32_t i = 0; i < r->count && !error; i++) {
		struct look *look = &r->looks[i];
		if (look->stopped || !look->row_ns ||
			thread_of(spool, spool->lanes[i]) != look->tid)
			continue;
		error = writer_make_room(w);
		if (error)
			return error;
		look->stopped = true;
		look->row_ns = since_ns > look->row_ns ? since_ns : look->row_ns + 1;
		row_put(w, spool, spool->lanes[i], look, look->row_ns);
	}
	return 0;
}

/* Add a row of the machine's time: at first, at the end, and up to a thousand times in between. */
static int machine_look(struct writer *w, struct spool *spool, struct readings *r, bool is_last)
{
	struct machine_time time;
	uint64_t now = clock_monotonic_ns(), least_ns = age_ns(spool, now) / SHARE;
	if (least_ns < MACHINE_NS)
		least_ns = MACHINE_NS;
	if ((r->machine_row_ns && !is_last && now - r->machine_row_ns < least_ns) || !r->count ||
		!machine_time_read(&time))
		return 0;
	int error = writer_make_room(w);
	struct batch *b = w->rows.batches[EVENT_MACHINE_TIME];
	if (error || !batch_row_add(b, now))
		return error;
	batch_set(b, MACHINE_TIME_BUSY, time.busy_ns);
	batch_set(b, MACHINE_TIME_IDLE, time.idle_ns);
	batch_set(b, MACHINE_TIME_STEAL, time.steal_ns);
	if (!r->machine_row_ns)
		r->steal_before_ns = time.steal_ns;
	r->machine_row_ns = now;
	spool->steal_ns =
		time.steal_ns > r->steal_before_ns ? time.steal_ns - r->steal_before_ns : 0;
	lane_rows_put(w, spool, spool->lanes[0], b, 0, now, now);
	return 0;
}

static struct readings *readings_make(struct spool *spool)
{
	struct readings *r = slot_get(&spool->slots[SLOT_READINGS], sizeof(*r), readings_release);
	if (!r || r->count >= spool->lane_count)
		return r;
	struct look *looks = realloc(r->looks, spool->lane_count * sizeof(*looks));
	if (!looks)
		return NULL;
	memset(looks + r->count, 0, (spool->lane_count - r->count) * sizeof(*looks));
	r->looks = looks;
	r->count = spool->lane_count;
	return r;
}

static int spool_read(struct writer *w, struct spool *spool, uint64_t now_ns, bool is_last)
{
	int error = 0;
	if (!spool_header(spool)->thread_time.is_on || spool->dead || spool->finished)
		return 0;
	struct readings *r = readings_make(spool);
	if (!r || spool->readings_off || (!is_last && now_ns < r->due_ns))
		return 0;
	if (!spool->same_namespace) {
		spool->readings_off = "the process has a pid namespace of its own";
		return 0;
	}
	bool ran = false;
	uint64_t begin_ns = clock_monotonic_ns();
	spool_is_proven(spool, begin_ns); /* once; its time does not count below */
	uint64_t proof_ns = clock_monotonic_ns() - begin_ns;
	error = machine_look(w, spool, r, is_last);
	for (uint32_t i = 0; i < r->count && !error; i++)
		error = lane_look(w, spool, r, i, is_last, &ran);
	if (!error && !ran && !is_last)
		error = stop_look(w, spool, r, r->looked_ns);
	r->looked_ns = now_ns;
	uint64_t wait_ns = (clock_monotonic_ns() - now_ns - proof_ns) * SHARE;
	r->due_ns = now_ns + (wait_ns > LOOK_NS ? wait_ns : LOOK_NS);
	return error;
}

int readings_look(struct writer *w, uint64_t now_ns)
{
	int error = 0;
	for (uint32_t i = 0; i < w->spools.count && !error; i++)
		if (w->spools.all[i]->host_pid)
			error = spool_read(w, w->spools.all[i], now_ns, false);
	return error;
}

int readings_last(struct writer *w, struct spool *spool, uint64_t now_ns)
{
	return spool->host_pid ? spool_read(w, spool, now_ns, true) : 0;
}

/* ---- readings of the threads themselves ---- */

uint32_t thread_time_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	struct thread_time time = {0};
	uint64_t ns = segment_ns(s, r->tick),
		 flags = r->a &
		(TIME_FIRST | TIME_LAST | TIME_DELAY | TIME_COUNTS | TIME_SYSTEM | TIME_COUNTERS);
	memcpy(&time, at->payload, at->bytes < sizeof(time) ? at->bytes : sizeof(time));
	if (!(flags & TIME_DELAY) && time.created && time.created < r->tick) {
		/* Before its first instruction, a thread waits only for a CPU. */
		uint64_t created_ns = segment_ns(s, time.created);
		time.run_delay_ns = ns > created_ns + r->b ? ns - created_ns - r->b : 0;
		flags |= TIME_DELAY;
	}
	struct batch *b = segment_row_add(s, EVENT_THREAD_TIME, ns);
	batch_set(b, THREAD_TIME_FLAGS, flags);
	batch_set(b, THREAD_TIME_CPU_TIME, r->b);
	batch_set(b, THREAD_TIME_RUN_DELAY, flags & TIME_DELAY ? time.run_delay_ns : 0);
	batch_set(b, THREAD_TIME_VOLUNTARY, time.voluntary);
	batch_set(b, THREAD_TIME_INVOLUNTARY, time.involuntary);
	batch_set(b, THREAD_TIME_MINOR_FAULTS, time.minor_faults);
	batch_set(b, THREAD_TIME_MAJOR_FAULTS, time.major_faults);
	batch_set(b, THREAD_TIME_SYSTEM_TIME, flags & TIME_SYSTEM ? time.system_ns : 0);
	batch_set(b, THREAD_TIME_INSTRUCTIONS, flags & TIME_COUNTERS ? time.instructions : 0);
	batch_set(b, THREAD_TIME_CYCLES, flags & TIME_COUNTERS ? time.cycles : 0);
	return at->slots;
}

/* Add the reading that another thread took when it ended the process. */
void thread_time_end_put(struct ending *e)
{
	uint64_t tick = __atomic_load_n(&e->lane->end_tick, __ATOMIC_ACQUIRE);
	if (!ending_has_thread(e) || !tick || tick > e->end_tick)
		return;
	struct batch *b = ending_row_add(e, EVENT_THREAD_TIME, ending_ns(e, tick));
	uint64_t instructions = e->lane->end_instructions, cycles = e->lane->end_cycles;
	batch_set(b, THREAD_TIME_FLAGS,
		TIME_LAST | TIME_DELAY | (instructions && cycles ? TIME_COUNTERS : 0));
	batch_set(b, THREAD_TIME_CPU_TIME, e->lane->end_cpu_ns);
	batch_set(b, THREAD_TIME_RUN_DELAY, e->lane->end_delay_ns);
	batch_set(b, THREAD_TIME_INSTRUCTIONS, instructions);
	batch_set(b, THREAD_TIME_CYCLES, cycles);
}
