/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - life of a writer with a live tree: passes while events arrive, long sleeps while there
 * are none, the end.
 */
#define _GNU_SOURCE
#include "writer/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "writer/cuda/cubins.h"
#include "writer/adopt.h"
#include "writer/base/notes.h"
#include "writer/base/output.h"
#include "writer/base/writer.h"
#include "writer/diagnostics.h"
#include "writer/machine/samples.h"
#include "writer/process/process.h"
#include "writer/sched/readings.h"
#include "writer/sched/switches.h"
#include "writer/spool/liveness.h"
#include "writer/tree.h"
#include "writer/windows.h"

#define PASS_NS UINT64_C(1000000)   /* interval of passes while events arrive */
#define IDLE_NS UINT64_C(100000000) /* length of a long sleep */
#define WOKEN_NS                                                                           \
	UINT64_C(50000) /* a wake-up came before the sleep: processes that wake the writer \
			   without end cause no busy loop */
#define QUIET_PASSES 8  /* passes without a full chunk before the long sleeps begin */
#define DEATH_CHECK_NS UINT64_C(10000000)
#define CLOCK_NS UINT64_C(100000000) /* interval of clock points if no pass takes one */
#define LOOK_NS UINT64_C(1000000000) /* between looks into the folder, regardless of the counter */
#define FIRST_SPOOL_NS UINT64_C(5000000000) /* wait before a tree without a spool counts as ended */
#define NAMES_NS UINT64_C(1000000000)       /* wait before a spool that is not ready is given up */
#define STALLED_NS UINT64_C(50000000)       /* interval of attempts to write */
#define STALLED_END_NS                                                                          \
	UINT64_C(5000000000) /* maximum wait of a writer whose tree has ended for a report that \
				cannot be written */
#define BACKLOG_SHORT (2u * CHUNK_BYTES) /* of one lane: above this, the next pass is sooner */
#define BACKLOG_LONG                                                                          \
	(8u * CHUNK_BYTES) /* above this, it is at once: a producer that touches fresh memory \
			      loses more than a pass costs */
#define DRAIN_BYTES (4u * CHUNK_BYTES)
#define NOTIFIED_MAX 64 /* processes that announced their end, in one pass */

/*
 * A pass is due when a lane holds a chunk (its producer will soon need room), when all lanes
 * together hold enough for a block that is worth its header, when data has waited for the flush
 * interval, or when a process has announced its end or died.
 */
struct follow {
	struct writer *w;
	uint64_t started_ns, looked_ns, checked_ns, waiting_ns, names_ns, stalled_ns;
	uint64_t backlog; /* bytes in the fullest lane at the last look */
	uint32_t quiet, wake, notices;
	bool gate_opened, gate_closed, seen_spool;
	bool init_ended; /* process 1 of our pid namespace has ended: the kernel then kills all
			    others, and us */
};

static void gate_work(struct follow *f, uint64_t now)
{
	struct tree_control *c = f->w->control;
	uint64_t open = c->created_mono_ns + c->delay_ns;
	if (c->delay_ns && !f->gate_opened && now >= open) {
		f->gate_opened = true;
		if (!c->duration_ns || now < open + c->duration_ns)
			capture_set_time(c, true);
	}
	if (c->duration_ns && !f->gate_closed && now >= open + c->duration_ns) {
		f->gate_closed = true;
		capture_set_time(c, false);
	}
}

/* Return the time until the gate opens or closes, at most `ns`. */
static uint64_t gate_limit(const struct follow *f, uint64_t now, uint64_t ns)
{
	const struct tree_control *c = f->w->control;
	uint64_t open = c->created_mono_ns + c->delay_ns;
	if (c->delay_ns && !f->gate_opened && open > now && open - now < ns)
		ns = open - now;
	if (c->duration_ns && !f->gate_closed && open + c->duration_ns > now &&
		open + c->duration_ns - now < ns)
		ns = open + c->duration_ns - now;
	return ns;
}

static void look_for_spools(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	if (__atomic_load_n(&w->control->spools, __ATOMIC_ACQUIRE) == w->seen.spools &&
		now - f->looked_ns < LOOK_NS && f->looked_ns)
		return;
	f->looked_ns = now;
	if (tree_discover(w) < 0)
		f->looked_ns = 0; /* look again in the next turn */
	f->seen_spool |= w->spools.count != 0;
	if (!w->spools.unfinished_names)
		f->names_ns = 0;
	else if (!f->names_ns)
		f->names_ns = now;
}

/* Return true if the process has ended, or was replaced by another program. */
static bool has_died(struct follow *f, struct spool *spool, const struct clock_point *point)
{
	struct writer *w = f->w;
	watch_add(&w->watch, spool); /* its pidfd may be known only now */
	if (f->init_ended /* the process will be dead at once */ ||
		watch_has_ended(&w->watch, spool) ||
		spool_is_dead(&w->spools, spool, point->mono_ns))
		return true;
	if (!spool->watch && spool->pidfd >= 0) /* without a pidfd a zombie seems to be alive */
		spool->alive = *point;
	return false;
}

/* Find processes that have died. Return true if there are any. */
static bool check_deaths(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	bool died = false;
	uint32_t notices = __atomic_load_n(&w->watch.notices, __ATOMIC_ACQUIRE);
	bool due = now - f->checked_ns >= DEATH_CHECK_NS || notices != f->notices;
	struct clock_point point = {0};
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		if (!spool->dead && (due || spool->drained || f->init_ended)) {
			if (!point.mono_ns)
				clock_point_take(&point);
			spool->dead = has_died(f, spool, &point);
		}
		died |= spool->dead;
	}
	if (due)
		f->checked_ns = now;
	f->notices = notices;
	return died;
}

static bool is_announced(const struct spool *spool)
{
	uint32_t state = __atomic_load_n(&spool_header(spool)->state, __ATOMIC_ACQUIRE);
	return !spool->drained && state == SPOOL_EXITED;
}

static bool any_announced(const struct follow *f)
{
	for (uint32_t i = 0; i < f->w->spools.count; i++)
		if (is_announced(f->w->spools.all[i]))
			return true;
	return false;
}

/* Drain everything, write it, and notify the processes that had announced their end before this
 * call. */
static int pass(struct follow *f)
{
	struct writer *w = f->w;
	struct spool *waiting[NOTIFIED_MAX];
	uint32_t count = 0;
	uint64_t fullest;
	int error = 0;
	for (uint32_t i = 0; i < w->spools.count && count < NOTIFIED_MAX; i++)
		if (is_announced(w->spools.all[i]))
			waiting[count++] = w->spools.all[i];
	tree_look(w, &fullest);
	if (count)
		error = samples_flush(w);
	for (uint32_t i = 0; i < count && !error; i++)
		error = readings_last(w, waiting[i], clock_monotonic_ns());
	if (!error)
		error = tree_drain(w);
	if (!error)
		error = writer_flush(w, false);
	for (uint32_t i = 0; i < count && !error; i++) {
		f->init_ended |= spool_is_init(waiting[i]);
		tree_notify_drained(waiting[i]);
	}
	if (!error)
		f->waiting_ns = 0;
	return error;
}

static bool pass_is_due(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	uint64_t fullest, bytes = tree_look(w, &fullest);
	bool something = bytes || !block_is_empty(&w->report.block);
	f->waiting_ns = !something ? 0 : f->waiting_ns ? f->waiting_ns : now;
	bool full = fullest >= CHUNK_BYTES || bytes >= DRAIN_BYTES;
	f->quiet = full ? 0 : f->quiet + 1;
	f->backlog = fullest;
	return full || w->report.is_sealed ||
		(something && now - f->waiting_ns >= w->control->flush_interval_ns) ||
		any_announced(f);
}

static bool dir_is_gone(const struct writer *w)
{
	struct stat status;
	return fstat(w->spools.dir_fd, &status) || status.st_nlink == 0;
}

static bool tree_has_ended(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	if (w->spools.count)
		return false;
	if (dir_is_gone(w))
		return true;
	if (!f->seen_spool && now - f->started_ns < FIRST_SPOOL_NS)
		return false;
	if (!f->init_ended && children_live(&w->children))
		return false;
	f->looked_ns = 0;
	look_for_spools(f, now);
	return !w->spools.count && !w->report.is_sealed &&
		(!f->names_ns || now - f->names_ns > NAMES_NS);
}

static void sleep_long(struct follow *f, uint64_t now)
{
	struct tree_control *c = f->w->control;
	uint64_t ns = gate_limit(f, now, IDLE_NS);
	if (f->waiting_ns && f->waiting_ns + c->flush_interval_ns < now + ns)
		ns = f->waiting_ns + c->flush_interval_ns > now
			? f->waiting_ns + c->flush_interval_ns - now
			: 1;
	if (tree_sleep(c, f->wake))
		sys_futex_wait(&c->wake, f->wake, ns);
	else
		sys_sleep_ns(WOKEN_NS);
	__atomic_store_n(&c->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void sleep_as_due(struct follow *f, uint64_t now)
{
	if (f->w->report.is_sealed)
		sys_sleep_ns(STALLED_NS);
	else if (f->backlog >= BACKLOG_LONG)
		return;
	else if (f->backlog >= BACKLOG_SHORT)
		sys_sleep_ns(PASS_NS / 20);
	else if (f->quiet < QUIET_PASSES)
		sys_sleep_ns(PASS_NS);
	else
		sleep_long(f, now);
}

static bool may_pass(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO;
}

/* Read what the kernel counts and records of threads, and samples of the machine. */
static int counters_look(struct follow *f, uint64_t now)
{
	bool is_busy = false;
	int error = switches_look(f->w, &is_busy);
	if (is_busy)
		f->quiet = 0;
	if (!error)
		error = readings_look(f->w, now);
	return error ? error : samples_look(f->w);
}

/* Do one turn. Return 1 if the tree has ended, 0 to continue, or a permanent error. */
static int turn(struct follow *f)
{
	struct writer *w = f->w;
	uint64_t now = clock_monotonic_ns();
	int error = 0;
	if (now - w->clock.now.mono_ns >= CLOCK_NS)
		writer_take_time(w);
	f->wake = __atomic_load_n(&w->control->wake, __ATOMIC_SEQ_CST);
	gate_work(f, now);
	if (!w->report.is_sealed)
		look_for_spools(f, now);
	if (!w->report.is_sealed) { /* new spools may have filled the block */
		diagnostics_collect(w);
		windows_collect(w);
	}
	bool died = check_deaths(f, now);
	bool due = pass_is_due(f, now);
	if (w->report.is_sealed)
		error = writer_flush(w, false);
	if (!error && !w->report.is_sealed)
		error = counters_look(f, now);
	if (!error && due)
		error = pass(f);
	if (!error && died)
		error = samples_flush(w);
	if (!error && died)
		error = tree_end_dead(w);
	if (!error || may_pass(error))
		f->stalled_ns = !error ? 0 : f->stalled_ns ? f->stalled_ns : now;
	if (error)
		return may_pass(error) ? 0 : error;
	if (tree_has_ended(f, now))
		return 1;
	sleep_as_due(f, now);
	return 0;
}

/* Return true if all processes have ended while the report cannot be written. */
static bool is_hopeless(const struct follow *f, uint64_t now)
{
	if (!f->stalled_ns || now - f->stalled_ns < STALLED_END_NS)
		return false;
	for (uint32_t i = 0; i < f->w->spools.count; i++)
		if (!f->w->spools.all[i]->dead)
			return false;
	return true;
}

static int fail(struct writer *w, int error)
{
	struct tree_control *c = w->control;
	const char *cause = error == -EEXIST ? "the file exists, and overwriting is not enabled"
		: error == -EBUSY            ? "another writer is writing to it"
		: error == -EINVAL           ? "not a regular file"
					     : strerror(-error);
	snprintf(c->writer_error, sizeof(c->writer_error), "%.*s: %s", 160, w->report.path, cause);
	__atomic_store_n(&c->writer_state, WRITER_FAILED, __ATOMIC_RELEASE);
	return 1;
}

/* Give up. Records that could not be written stay in the spools; a note fits into the reserve. */
static int give_up(struct writer *w)
{
	uint32_t cubins = cubins_unwritten(w);
	writer_discard(w);
	writer_note(w, 0, clock_monotonic_ns(),
		"cannot write the whole report; run 'trace recover %s' to add the rest", w->dir);
	if (cubins)
		writer_note(w, 0, clock_monotonic_ns(),
			"CUDA: the code of %u modules is missing from the report or incomplete",
			cubins);
	writer_flush(w, true);
	return fail(w, -ENOSPC);
}

static void start(struct follow *f, struct writer *w)
{
	*f = (struct follow){.w = w, .started_ns = clock_monotonic_ns()};
	tree_writer_holds(w->control);
	__atomic_store_n(&w->control->sink_state, SINK_OK, __ATOMIC_RELAXED);
	__atomic_store_n(&w->control->writer_state, WRITER_RUNNING, __ATOMIC_RELEASE);
	spools_guard(&w->spools);
	watch_start(&w->watch, w->control);
	/* A program that cannot be traced may start one that can. */
	process_watch(w, w->control->root_pid);
	writer_take_time(w);
}

static int run(struct writer *w)
{
	struct follow f;
	start(&f, w);
	int error = writer_open_report(w, w->control->output, w->control->overwrite != 0);
	if (error)
		return fail(w, error);
	process_put_root(w, false);
	do {
		error = turn(&f);
		if (is_hopeless(&f, clock_monotonic_ns()))
			return give_up(w);
		if (!error && f.stalled_ns)
			sys_sleep_ns(STALLED_NS);
	} while (!error);
	if (error < 0)
		return fail(w, error);
	w->spools.at_end = true;
	tree_discover(w);
	diagnostics_collect(w);
	windows_finish(w);
	error = process_put_unseen(w);
	if (!error) {
		process_put_lost(w);
		error = writer_flush(w, true);
	}
	if (error)
		return give_up(w);
	sink_close(&w->report.sink);
	if (f.init_ended)
		tree_remove(w); /* after the next line there may be no time for this */
	__atomic_store_n(&w->control->writer_state, WRITER_FINISHED, __ATOMIC_RELEASE);
	if (!f.init_ended)
		tree_remove(w);
	return 0;
}

/* Return true if `fd` is the control file of this tree, which is then locked already. */
static bool is_control(const struct writer *w, int fd)
{
	struct stat given, there;
	return !fstat(fd, &given) &&
		!fstatat(w->spools.dir_fd, "control", &there, AT_SYMLINK_NOFOLLOW) &&
		given.st_ino == there.st_ino && given.st_dev == there.st_dev;
}

int follow_tree(const char *dir, int lock_fd)
{
	static struct writer w;
	int status = 1, error = writer_init(&w, dir);
	if (!error && lock_fd >= 0 && is_control(&w, lock_fd))
		w.control_fd = lock_fd;
	else if (lock_fd >= 0)
		close(lock_fd); /* not a lock of this tree */
	if (!error)
		error = tree_open_control(&w);
	if (!error && flock(w.control_fd, LOCK_EX | LOCK_NB))
		error = -EBUSY;
	if (error)
		fprintf(stderr, "libtrace: writer: %s: %s\n", dir,
			error == -EBUSY            ? "another writer is running"
				: error == -EPROTO ? "created by another version of libtrace.so; "
						     "install library and writer together"
						   : strerror(-error));
	else
		status = run(&w);
	writer_release(&w);
	return status;
}
