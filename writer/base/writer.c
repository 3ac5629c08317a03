/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - state of a writer: initialization, release, and clock points.
 */
#define _GNU_SOURCE
#include "writer/base/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"

#define DOUBTS_MAX 8
#define DOUBT_NS 20000u

int writer_init(struct writer *w, const char *dir)
{
	memset(w, 0, sizeof(*w));
	w->dir = dir;
	w->report.sink.fd = w->control_fd = w->watch.epoll_fd = -1;
	snprintf(w->report.producer, sizeof(w->report.producer), "libtrace %s", LIBTRACE_VERSION);
	clockfit_init(&w->clock.fit);
	clock_init();
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++) {
		w->rows.batches[kind] = calloc(1, batch_bytes(kind));
		if (!w->rows.batches[kind])
			return -ENOMEM;
		w->rows.batches[kind]->kind = kind;
	}
	int error = strings_init(&w->report.strings);
	return error ? error : spools_init(&w->spools, dir);
}

void writer_release(struct writer *w)
{
	for (uint32_t kind = 1; kind < EVENT_KINDS; kind++)
		free(w->rows.batches[kind]);
	watch_stop(&w->watch);
	children_release(&w->children);
	sink_close(&w->report.sink);
	block_release(&w->report.block);
	strings_release(&w->report.strings);
	spools_release(&w->spools);
	for (uint32_t i = 0; i < TREE_SLOTS; i++)
		slot_release(&w->slots[i]);
	known_clear(&w->known);
	expected_clear(&w->expected);
	adopted_clear(&w->adopted);
	tree_writer_holds(NULL);
	if (w->control)
		munmap(w->control, TREE_CONTROL_BYTES);
	if (w->control_fd >= 0)
		close(w->control_fd);
	w->control = NULL;
}

void writer_take_time(struct writer *w)
{
	clock_point_take(&w->clock.now);
	/* When recovering, the time since the processes died does not matter. */
	if (!clock_is_tsc || w->clock.other_boot || (w->recovering && w->clock.fit.count >= 2))
		return;
	/* Use a point that contradicts the others only once more points agree with it. */
	for (int i = 0; clockfit_follow(&w->clock.fit, &w->clock.now) == -EINVAL && i < DOUBTS_MAX;
		i++) {
		sys_sleep_ns(DOUBT_NS);
		clock_point_take(&w->clock.now);
	}
}

uint64_t writer_ns(struct writer *w, const struct spool *spool, uint64_t tick)
{
	return spool_header(spool)->clock_kind == CLOCK_KIND_TSC ? clockfit_ns(&w->clock.fit, tick)
								 : tick;
}
