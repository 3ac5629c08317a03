/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - the life of a writer beside a live tree: passes while events flow, long sleeps while
 * none do, the end.
 *
 * A pass is due when a lane holds a chunk (its producer will soon want room), when all lanes
 * together hold enough for a block that is worth its header, when data have waited for the flush
 * interval, or when a process has announced its end or died.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "writer/cubins.h"
#include "writer/writer.h"

#define PASS_NS UINT64_C(1000000)   /* between passes while events flow */
#define IDLE_NS UINT64_C(100000000) /* a long sleep */
#define EXIT_POLL_MS 2              /* a process that has announced its end is gone very soon */
#define EXIT_POLLS_MAX 500          /* unless it is not: then as any other */
#define WOKEN_NS \
	UINT64_C(50000) /* called before we slept: by one that calls always, it is no spin */
#define QUIET_PASSES 8  /* passes without a full chunk before the long sleeps begin */
#define DEATH_CHECK_NS UINT64_C(10000000)
#define CLOCK_NS UINT64_C(100000000) /* between clock points where no pass takes one */
#define LOOK_NS UINT64_C(1000000000) /* into the directory, whatever the counter says */
#define FIRST_SPOOL_NS \
	UINT64_C(5000000000)          /* a tree in which no spool appears has come to nothing */
#define NAMES_NS UINT64_C(1000000000) /* a spool that is not ready after so long never will be */
#define STALLED_NS UINT64_C(50000000) /* between attempts to write */
#define STALLED_END_NS                                                                             \
	UINT64_C(5000000000) /* how long a report that cannot be written keeps a writer whose tree \
				has ended */
#define BACKLOG_SHORT \
	(2u * CHUNK_BYTES) /* of one lane: a producer that is slowed by fresh memory ... */
#define BACKLOG_LONG (8u * CHUNK_BYTES) /* ... costs more than a pass that comes early */
#define DRAIN_BYTES (4u * CHUNK_BYTES)
#define EXIT_POLL_FDS 64

struct follow {
	struct writer *w;
	uint64_t started_ns, looked_ns, checked_ns, waiting_ns, names_ns, stalled_ns;
	uint64_t backlog; /* of the fullest lane at the last look */
	uint32_t quiet, wake, exit_requests, exit_polls;
	bool gate_opened, gate_closed, seen_spool;
	bool init_ended; /* when it has gone, the kernel kills all others, us as well */
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

/* Time until the gate moves, at most `ns`. */
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
	if (__atomic_load_n(&w->control->spools, __ATOMIC_ACQUIRE) == w->spools_seen &&
		now - f->looked_ns < LOOK_NS && f->looked_ns)
		return;
	f->looked_ns = now;
	if (tree_discover(w) < 0)
		f->looked_ns = 0; /* again in the next turn */
	f->seen_spool |= w->spools.count != 0;
	if (!w->spools.unfinished_names)
		f->names_ns = 0;
	else if (!f->names_ns)
		f->names_ns = now;
}

/* Returns true when one has died since the last look. */
static bool check_deaths(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	bool died = false;
	bool due = now - f->checked_ns >= DEATH_CHECK_NS;
	for (uint32_t i = 0; i < w->spools.count; i++) {
		struct spool *spool = w->spools.all[i];
		if (!spool->dead && f->init_ended)
			spool->dead = true; /* as good as */
		else if (!spool->dead && (due || spool->drained))
			spool->dead = spool_is_dead(&w->spools, spool, now);
		died |= spool->dead;
	}
	if (due)
		f->checked_ns = now;
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

/* Drains everything, then tells those that had announced their end before. */
static int pass(struct follow *f)
{
	struct writer *w = f->w;
	struct spool *waiting[EXIT_POLL_FDS];
	uint32_t count = 0;
	uint64_t fullest;
	for (uint32_t i = 0; i < w->spools.count && count < EXIT_POLL_FDS; i++)
		if (is_announced(w->spools.all[i]))
			waiting[count++] = w->spools.all[i];
	tree_look(w, &fullest);
	int error = tree_drain(w);
	if (!error)
		error = writer_flush(w, false);
	for (uint32_t i = 0; i < count && !error; i++) {
		f->init_ended |= spool_is_init(waiting[i]);
		tree_drained_tell(waiting[i]);
	}
	if (!error)
		f->waiting_ns = 0;
	return error;
}

static bool pass_is_due(struct follow *f, uint64_t now)
{
	struct writer *w = f->w;
	uint64_t fullest, bytes = tree_look(w, &fullest);
	bool something = bytes || !block_is_empty(&w->block);
	if (something && !f->waiting_ns)
		f->waiting_ns = now;
	bool full = fullest >= CHUNK_BYTES || bytes >= DRAIN_BYTES;
	f->quiet = full ? 0 : f->quiet + 1;
	f->backlog = fullest;
	return full || w->sealed ||
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
	if (!f->init_ended && children_live(w))
		return false;
	f->looked_ns = 0;
	look_for_spools(f, now);
	return !w->spools.count && !w->sealed && (!f->names_ns || now - f->names_ns > NAMES_NS);
}

/* Sleeps until a process that has been told that it is drained has gone. Returns false when there
 * is none. */
static bool sleep_for_exits(struct follow *f)
{
	struct pollfd fds[EXIT_POLL_FDS];
	nfds_t count = 0;
	for (uint32_t i = 0; i < f->w->spools.count && count < EXIT_POLL_FDS; i++)
		if (f->w->spools.all[i]->drained && f->w->spools.all[i]->pidfd >= 0)
			fds[count++] = (struct pollfd){f->w->spools.all[i]->pidfd, POLLIN, 0};
	if (!count || f->exit_polls >= EXIT_POLLS_MAX) {
		f->exit_polls = count ? f->exit_polls : 0;
		return false;
	}
	f->exit_polls++;
	poll(fds, count, EXIT_POLL_MS);
	return true;
}

static void sleep_long(struct follow *f, uint64_t now)
{
	struct tree_control *c = f->w->control;
	uint64_t ns = gate_limit(f, now, IDLE_NS);
	if (f->waiting_ns && f->waiting_ns + c->flush_interval_ns < now + ns)
		ns = f->waiting_ns + c->flush_interval_ns > now
			? f->waiting_ns + c->flush_interval_ns - now
			: 1;
	__atomic_store_n(&c->sleeping, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&c->wake, __ATOMIC_SEQ_CST) == f->wake)
		sys_futex_wait(&c->wake, f->wake, ns);
	else
		sys_sleep_ns(WOKEN_NS);
	__atomic_store_n(&c->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void sleep_as_due(struct follow *f, uint64_t now)
{
	if (f->w->sealed)
		sys_sleep_ns(STALLED_NS);
	else if (sleep_for_exits(f) || f->backlog >= BACKLOG_LONG)
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

/* One turn. Returns 1 when the tree has ended, 0 to go on, or an error that will not pass. */
static int turn(struct follow *f)
{
	struct writer *w = f->w;
	uint64_t now = clock_monotonic_ns();
	int error = 0;
	if (now - w->now.mono_ns >= CLOCK_NS)
		writer_take_time(w);
	f->wake = __atomic_load_n(&w->control->wake, __ATOMIC_SEQ_CST);
	gate_work(f, now);
	if (!w->sealed)
		look_for_spools(f, now);
	if (!w->sealed) { /* they may have filled it */
		writer_collect_diagnostics(w);
		windows_collect(w);
	}
	bool died = check_deaths(f, now);
	bool due = pass_is_due(f, now);
	if (w->sealed)
		error = writer_flush(w, false);
	if (!error && due)
		error = pass(f);
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

/* Nobody is left to produce, and the report cannot be written. */
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
	const char *cause = error == -EEXIST ? "the file exists and may not be replaced"
		: error == -EBUSY            ? "another writer is at work on it"
		: error == -EINVAL           ? "not a regular file"
					     : strerror(-error);
	snprintf(c->writer_error, sizeof(c->writer_error), "%.*s: %s", 160, w->report, cause);
	fprintf(stderr, "libtrace: writer: %s\n", c->writer_error);
	__atomic_store_n(&c->writer_state, WRITER_FAILED, __ATOMIC_RELEASE);
	return 1;
}

/* What could not be written stays in the spools; the reserve has room to say so. */
static int give_up(struct writer *w)
{
	uint32_t cubins = cubins_unwritten(w);
	writer_discard(w);
	writer_note(w, 0, clock_monotonic_ns(),
		"the report could not be written to its end: the rest is in '%s', for trace "
		"recover",
		w->dir);
	if (cubins)
		writer_note(w, 0, clock_monotonic_ns(),
			"CUDA: the code of %u modules is not in the report, nor is all of it there",
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
	child_watch(w, w->control->root_pid,
		UINT64_MAX); /* a program that cannot be traced may start one that can */
	writer_take_time(w);
}

static int run(struct writer *w)
{
	struct follow f;
	start(&f, w);
	int error = writer_open_report(w, w->control->output, w->control->overwrite != 0);
	if (error)
		return fail(w, error);
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
	writer_collect_diagnostics(w);
	windows_finish(w);
	error = process_tell_unseen(w);
	if (!error) {
		process_tell_lost(w);
		error = writer_flush(w, true);
	}
	if (error)
		return give_up(w);
	sink_close(&w->sink);
	if (f.init_ended)
		tree_remove(w); /* behind the next line there may be no time for it */
	__atomic_store_n(&w->control->writer_state, WRITER_FINISHED, __ATOMIC_RELEASE);
	if (!f.init_ended)
		tree_remove(w);
	return 0;
}

/* Is `fd` the control file of this tree? Then it is locked already. */
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
		close(lock_fd); /* somebody else's */
	if (!error)
		error = tree_open_control(&w);
	if (!error && flock(w.control_fd, LOCK_EX | LOCK_NB))
		error = -EBUSY;
	if (error)
		fprintf(stderr, "libtrace: writer: %s: %s\n", dir,
			error == -EBUSY ? "another writer is at work" : strerror(-error));
	else
		status = run(&w);
	writer_release(&w);
	return status;
}
