/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switches.c - context switches: an event for each thread, its ring, and the rows of its records.
 *
 * A record is 32 bytes: a switch onto a CPU or off it, with its time by CLOCK_MONOTONIC, which is
 * the clock of the report. The kernel is trusted to write whole records, but their sizes are
 * checked nevertheless.
 */
#define _GNU_SOURCE
#include "writer/sched/switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "writer/base/output.h"
#include "writer/lane/segment.h"
#include "writer/spool/liveness.h"

#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))
#define RING_PAGES 8u       /* 1,024 records */
#define RING_PAGES_LEAST 1u /* where a user may lock little memory */
#define RECORDS_MAX 1000u   /* of one thread and turn: each adds at most two rows */
#define RECORD_BYTES 32u    /* of a switch */
#define RECORD_SIZE_MAX 128 /* longer records are not decoded */
#define RINGS_LARGE 1024u   /* rings beyond this number have the least size: 36 MiB so far */
#define RINGS_MAX 4096u     /* threads beyond this number have none: 60 MiB */

/* The records that are decoded, and the end of each: sample_id_all with the sample_type below. */
struct sample_end {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, pad;
};

struct lost_body {
	uint64_t id, count;
};

/* The event of the thread of a lane. */
struct ring {
	uint32_t tid; /* 0 = none */
	void *map;    /* NULL = refused, or the thread has ended */
	size_t bytes;
	uint64_t opened_ns, last_ns;
	bool is_known; /* a row was added, so the next fields are valid */
	bool is_in;    /* on a CPU */
	bool was_full; /* records may be lost that the kernel has not counted yet */
};

struct switches {
	struct ring *rings; /* one for each lane */
	uint32_t count;
};

static uint32_t opened; /* rings that are mapped, each with a descriptor until it is mapped */

static void ring_close(struct ring *ring)
{
	if (ring->map) {
		munmap(ring->map, ring->bytes);
		opened--;
	}
	ring->map = NULL;
}

static void switches_release(void *data)
{
	struct switches *s = data;
	for (uint32_t i = 0; i < s->count; i++)
		ring_close(&s->rings[i]);
	free(s->rings);
}

/* Count the records that nobody will read any more, and unmap the ring. The kernel counts what it
 * lost in a record that it stores when there is room again: without it, at least one is lost. */
static void ring_leave(struct spool *spool, struct ring *ring)
{
	const struct perf_event_mmap_page *page = ring->map;
	spool->switches.lost += ring->was_full;
	ring->was_full = false;
	if (page)
		spool->switches.lost +=
			(__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) - page->data_tail) /
			RECORD_BYTES;
	ring_close(ring);
}

/* ---- opening ---- */

static const char *off_text(int error)
{
	return error == EPERM || error == EACCES
		? "the system does not permit perf_event_open() (perf_event_paranoid, a system "
		  "call filter, or a process of another user)"
		: error == ENOSYS || error == ENOENT || error == EINVAL
		? "the kernel has no perf events of context switches"
		: NULL;
}

static int event_open(uint32_t tid)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.task = 1,
		.sample_id_all = 1,
		.context_switch = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC};
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Map the ring of an event. The mapping keeps the event, so that the descriptor may be closed. */
static bool ring_map(struct ring *ring, int fd)
{
	size_t most = opened < RINGS_LARGE ? RING_PAGES : RING_PAGES_LEAST;
	for (size_t pages = most; pages >= RING_PAGES_LEAST && opened < RINGS_MAX; pages /= 2) {
		size_t bytes = (pages + 1) * PAGE_BYTES;
		void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			continue; /* the user may not lock that much memory */
		ring->map = map;
		ring->bytes = bytes;
		opened++;
		return true;
	}
	return false;
}

/* Return true if the thread belongs to the process, which may have stored any number. */
static bool is_own_thread(struct spool *spool, uint32_t tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/task/%u", spool->host_pid, tid);
	return !access(path, F_OK) && spool_is_proven(spool, clock_monotonic_ns()) == 1;
}

/* Open the event of a thread of the process. Return its descriptor or a negative errno. The number
 * may be given to a stranger's thread before the event is opened: so look again after that. */
static int own_event_open(struct spool *spool, uint32_t tid)
{
	int fd = is_own_thread(spool, tid) ? event_open(tid) : -ESRCH;
	if (fd == -1)
		return -errno;
	if (fd < 0 || is_own_thread(spool, tid))
		return fd;
	close(fd);
	return -ESRCH;
}

static void ring_open(struct spool *spool, struct ring *ring, uint32_t tid)
{
	*ring = (struct ring){.tid = tid};
	if (spool->switches.off)
		return;
	int fd = own_event_open(spool, tid), error = fd < 0 ? -fd : 0;
	if (error == ESRCH)
		return; /* the thread has ended */
	if (error && !spool->switches.threads)
		spool->switches.off = off_text(error);
	ring->opened_ns = clock_monotonic_ns();
	if (fd >= 0 && ring_map(ring, fd))
		spool->switches.threads++;
	else
		spool->switches.refused++;
	if (fd >= 0)
		close(fd);
}

/* ---- records ---- */

/* Where the rows of a thread go: to a batch while it lives, to the end of its lane after that. */
struct switch_rows {
	struct spool *spool;
	struct ring *ring;
	struct batch *batch;
	struct ending *ending;
	uint64_t count, first_ns;
};

static void row_add(struct switch_rows *rows, const struct sample_end *at, bool is_in,
	uint64_t state, uint64_t how)
{
	struct ring *ring = rows->ring;
	uint64_t ns = at->time_ns > ring->last_ns ? at->time_ns : ring->last_ns;
	struct batch *b = rows->batch;
	if (rows->ending)
		b = ending_row_add(rows->ending, EVENT_SCHED_SWITCH, ns);
	else if (!batch_row_add(b, ns))
		return;
	batch_set(b, SCHED_SWITCH_CPU, at->cpu);
	batch_set(b, SCHED_SWITCH_IS_IN, is_in);
	batch_set(b, SCHED_SWITCH_STATE, state);
	batch_set(b, SCHED_SWITCH_HOW, how);
	rows->first_ns = rows->count++ ? rows->first_ns : ns;
	ring->last_ns = ns;
	ring->is_known = true;
	ring->is_in = is_in;
	rows->spool->switches.rows++;
}

/* Add a switch. The rows of a thread alternate between in and out: where the kernel lost records,
 * and before the first record, the switch between two rows is assumed. */
static void switch_add(struct switch_rows *rows, const struct sample_end *at, bool is_in,
	uint64_t state, uint64_t how)
{
	const struct ring *ring = rows->ring;
	struct sample_end before = *at;
	if (!ring->is_known && ring->opened_ns < at->time_ns)
		before.time_ns = ring->opened_ns;
	if (ring->is_known ? ring->is_in == is_in : !is_in)
		row_add(rows, &before, !is_in, 0, SWITCH_ASSUMED);
	row_add(rows, at, is_in, state, how);
}

/* Add the rows of a record. Return false if the thread has ended. */
static bool record_add(struct switch_rows *rows, const struct perf_event_header *header)
{
	struct sample_end end;
	struct lost_body lost;
	memcpy(&end, (const uint8_t *)header + header->size - sizeof(end), sizeof(end));
	if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*header) + sizeof(lost)) {
		memcpy(&lost, header + 1, sizeof(lost));
		rows->spool->switches.lost += lost.count;
		rows->ring->was_full = false;
	} else if (header->type == PERF_RECORD_SWITCH) {
		bool is_out = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
		bool was_preempted = header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		switch_add(rows, &end, !is_out, 0, is_out && was_preempted ? SWITCH_PREEMPTED : 0);
	} else if (header->type == PERF_RECORD_EXIT) {
		switch_add(rows, &end, false, SWITCH_STATE_ENDED, 0);
		return false;
	}
	return true;
}

/* Add the rows of the records in the ring. Return the number of records. The ring is closed at the
 * thread's end. */
static uint32_t ring_drain(struct switch_rows *rows)
{
	struct ring *ring = rows->ring;
	struct perf_event_mmap_page *page = ring->map;
	const uint8_t *data = (const uint8_t *)page + PAGE_BYTES;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail,
		 bytes = ring->bytes - PAGE_BYTES;
	_Alignas(8) uint8_t copy[RECORD_SIZE_MAX];
	uint32_t records = 0;
	bool lives = true;
	bool is_full = head - tail + RECORD_BYTES >= bytes; /* the kernel leaves a byte free */
	while (lives && tail < head && records < RECORDS_MAX) {
		struct perf_event_header header;
		memcpy(&header, data + tail % bytes, sizeof(header)); /* records are 8-aligned */
		if (header.size < sizeof(header) + sizeof(struct sample_end) ||
			header.size > head - tail) {
			tail = head;
			break;
		}
		for (uint32_t i = 0; i < header.size && header.size <= sizeof(copy); i++)
			copy[i] = data[(tail + i) % bytes];
		if (header.size <= sizeof(copy))
			lives = record_add(rows, (const struct perf_event_header *)copy);
		tail += header.size;
		records++;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	ring->was_full |= is_full;
	if (!lives)
		ring_close(ring);
	return records;
}

/* ---- turns ---- */

static int lane_switches(struct writer *w, struct spool *spool, struct lane_view *view,
	struct ring *ring, bool *ret_busy)
{
	struct switch_rows rows = {
		.spool = spool, .ring = ring, .batch = w->rows.batches[EVENT_SCHED_SWITCH]};
	const struct perf_event_mmap_page *page = ring->map;
	if (!page || __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) == page->data_tail)
		return 0;
	int error = writer_make_room(w);
	if (error)
		return error;
	uint32_t full = (uint32_t)((ring->bytes - PAGE_BYTES) / RECORD_BYTES);
	*ret_busy |= ring_drain(&rows) > full / 4;
	if (!rows.count)
		return 0;
	rows.batch->process = spool->id;
	rows.batch->tid = ring->tid;
	block_put_batch(&w->report.block, rows.batch);
	rows.batch->count = 0;
	block_note_events(&w->report.block, rows.count, rows.first_ns, ring->last_ns);
	view->own.produced += rows.count;
	view->own.written += rows.count;
	w->totals.events += rows.count;
	lane_mark(w, spool, view);
	return 0;
}

/* Return the thread that has the lane; 0 = none. */
static uint32_t thread_of(struct spool *spool, const struct lane_view *view)
{
	const struct lane *lane = view->closed ? NULL : lane_of(spool, view);
	if (!lane || __atomic_load_n(&lane->state, __ATOMIC_ACQUIRE) != LANE_LEASED)
		return 0;
	return __atomic_load_n(&lane->tid, __ATOMIC_RELAXED);
}

static struct switches *switches_make(struct spool *spool)
{
	struct switches *s = slot_get(&spool->slots[SLOT_SWITCHES], sizeof(*s), switches_release);
	if (!s || s->count >= spool->lane_count)
		return s;
	struct ring *rings = realloc(s->rings, spool->lane_count * sizeof(*rings));
	if (!rings)
		return NULL;
	memset(rings + s->count, 0, (spool->lane_count - s->count) * sizeof(*rings));
	s->rings = rings;
	s->count = spool->lane_count;
	return s;
}

static int spool_switches(struct writer *w, struct spool *spool, bool *ret_busy)
{
	int error = 0;
	if (!spool_header(spool)->thread_time.switches || spool->dead || spool->finished ||
		spool->switches.off)
		return 0;
	if (!spool->same_namespace) {
		spool->switches.off = "the process has a pid namespace of its own";
		return 0;
	}
	int proven = spool_is_proven(spool, clock_monotonic_ns());
	if (proven < 0)
		spool->switches.off = off_text(-proven);
	if (proven != 1)
		return 0;
	struct switches *s = switches_make(spool);
	for (uint32_t i = 0; s && i < s->count && !error; i++) {
		struct ring *ring = &s->rings[i];
		uint32_t tid = thread_of(spool, spool->lanes[i]);
		error = lane_switches(w, spool, spool->lanes[i], ring, ret_busy);
		if (error || !tid || tid == ring->tid)
			continue;
		ring_leave(spool, ring);
		ring_open(spool, ring, tid);
	}
	return error;
}

int switches_look(struct writer *w, bool *ret_busy)
{
	int error = 0;
	for (uint32_t i = 0; i < w->spools.count && !error; i++)
		if (w->spools.all[i]->host_pid)
			error = spool_switches(w, w->spools.all[i], ret_busy);
	return error;
}

void switches_end_put(struct ending *e)
{
	const struct switches *s = e->spool->slots[SLOT_SWITCHES].data;
	struct ring *ring = s && e->view->index < s->count ? &s->rings[e->view->index] : NULL;
	struct switch_rows rows = {.spool = e->spool, .ring = ring, .ending = e};
	if (!ring || !ring->map || ring->tid != e->view->tid)
		return;
	for (unsigned turns = 0; turns < 20 && ring_drain(&rows) == RECORDS_MAX; turns++)
		;
	ring_leave(e->spool, ring);
}
