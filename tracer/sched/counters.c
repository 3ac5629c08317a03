/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.c - instructions and cycles of threads, by events of perf without descriptors.
 *
 * The two events of a thread are opened in a task with a descriptor table of its own: the program
 * sees no descriptor. A mapping of one page keeps each event, and says how to read it in user mode:
 * the count is that of the page, and while the event is on the processor, the processor's counter
 * in addition (struct perf_event_mmap_page in linux/perf_event.h). Both are one group, so that both
 * are counted, or none.
 */
#define _GNU_SOURCE
#include "tracer/sched/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "common/spool.h"
#include "common/sys.h"
#include "machine/machine.h"
#include "tracer/base/unshared_fds.h"

#define PAGE_BYTES MACHINE_PAGE_MAX
#define READ_ROUNDS 1000u /* the kernel changes a page in less time than one takes */

enum event { CYCLES, INSTRUCTIONS, EVENTS };

/* The pages of each lane's thread, one after another; NULL = none. Whoever reads those of another
 * thread takes them away meanwhile: that thread unmaps them when it ends. */
static char *pages_of_lane[SPOOL_LANES_MAX];

static char *pages_take(uint32_t lane)
{
	return __atomic_exchange_n(&pages_of_lane[lane], NULL, __ATOMIC_ACQ_REL);
}

static void pages_give(uint32_t lane, char *pages)
{
	__atomic_store_n(&pages_of_lane[lane], pages, __ATOMIC_RELEASE);
}

/* ---- opening ---- */

struct opening {
	uint32_t tid;
	char *pages;
	int error;
};

static int event_open(uint32_t tid, enum event event, int group)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = event == CYCLES ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	return (int)SYS5(SYS_perf_event_open, &attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static void open_events(void *argument)
{
	struct opening *o = argument;
	int group = -1;
	for (enum event event = 0; event < EVENTS && !o->error; event++) {
		int fd = event_open(o->tid, event, group);
		if (fd < 0) {
			o->error = fd;
			break;
		}
		group = group < 0 ? fd : group;
		long page = SYS6(SYS_mmap, o->pages + (size_t)event * PAGE_BYTES, PAGE_BYTES,
			PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
		if (page < 0 && page > -4096)
			o->error = (int)page;
	}
}

static void pages_unmap(char *pages)
{
	sys_munmap(pages, (size_t)EVENTS * PAGE_BYTES);
}

int counters_open(uint32_t lane, uint32_t tid)
{
	struct opening o = {.tid = tid};
	if (!MACHINE_COUNTS)
		return -EOPNOTSUPP;
	long room = SYS6(SYS_mmap, NULL, (size_t)EVENTS * PAGE_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room < 0 && room > -4096)
		return (int)room;
	o.pages = (char *)(uintptr_t)room;
	if (!unshared_fds_run(open_events, &o))
		o.error = -EAGAIN;
	if (!o.error && !((struct perf_event_mmap_page *)(void *)o.pages)->cap_user_rdpmc)
		o.error = -EOPNOTSUPP;
	if (o.error)
		pages_unmap(o.pages);
	else
		pages_give(lane, o.pages);
	return o.error;
}

void counters_close(uint32_t lane)
{
	char *pages = pages_take(lane);
	if (pages)
		pages_unmap(pages);
}

void counters_forked(void)
{
	for (uint32_t i = 0; i < SPOOL_LANES_MAX; i++)
		if (pages_of_lane[i])
			pages_of_lane[i] = NULL;
}

/* ---- reading ---- */

/* Read one counter from the page that the kernel keeps for it. Return as counters_read() does. */
static bool counter_of_page(const struct perf_event_mmap_page *page, bool is_own, uint64_t *ret)
{
	for (unsigned rounds = 0; rounds < READ_ROUNDS; rounds++) {
		uint32_t lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		uint32_t index = page->index;
		/* Without these, it gave its place in the processor to other events for a while. */
		bool is_known = page->cap_user_rdpmc && (index != 0) == is_own &&
			page->time_enabled == page->time_running;
		*ret = (uint64_t)page->offset;
		if (is_known && index)
			*ret += (uint64_t)machine_performance_counter(index - 1, page->pmc_width);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(lock & 1) && __atomic_load_n(&page->lock, __ATOMIC_RELAXED) == lock)
			return is_known;
	}
	return false;
}

bool counters_read(uint32_t lane, bool is_own, struct counters *ret)
{
	char *pages = pages_take(lane);
	if (!pages)
		return false;
	bool is_known = counter_of_page((const void *)(pages + (size_t)CYCLES * PAGE_BYTES), is_own,
				&ret->cycles) &&
		counter_of_page((const void *)(pages + (size_t)INSTRUCTIONS * PAGE_BYTES), is_own,
			&ret->instructions);
	pages_give(lane, pages);
	return is_known;
}
