/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts.h - the clocks of the hosts of several reports, and their conversion to one clock.
 *
 * Each two hosts that exchanged messages have bounds of the difference of their clocks (fit.h). A
 * tree of the pairs with the smallest errors leads from each host to the first one of its group;
 * errors add up on the way. Groups without messages between them are placed by the wall clock.
 * Each two hosts of a group have an error of their own: that of the way between them in the tree,
 * or that of their own messages.
 *
 * One thread; allocates.
 */
#ifndef READER_MERGE_HOSTS_H
#define READER_MERGE_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/merge/clock_map.h"
#include "reader/merge/edges.h"

#define HOSTS_MAX 4096u

struct host {
	/* set by the caller */
	const char *boot_id;       /* "" = not known: no other report has this clock */
	int64_t wall_ns;           /* CLOCK_REALTIME minus its clock */
	uint64_t clock_error_ns;   /* greatest error of a time of its reports; UINT32_MAX = not
				    * known */
	int64_t first_ns, last_ns; /* range of its times */
	/* the result */
	uint32_t group;       /* index of the first host of its group */
	struct clock_map map; /* to the clock of host 0 */
	bool is_fitted;       /* by messages: drift, errors and bounds are known */
	bool has_drift;
	double drift, error_ns, error_ends_ns;
	uint64_t bounds;
};

/* Bounds of the difference of two converted clocks at one time; < 0: not known. */
struct host_pair {
	double error_ns, error_ends_ns;
};

struct hosts {
	struct host *rows;
	uint32_t count, capacity;
	struct host_pair *pairs; /* host_pair(); NULL until hosts_align() */
};

/* Return the errors of two different hosts. */
static inline struct host_pair *host_pair(const struct hosts *h, uint32_t a, uint32_t b)
{
	const size_t low = a < b ? a : b, high = a < b ? b : a;
	return &h->pairs[high * (high - 1) / 2 + low];
}

void hosts_release(struct hosts *h);

/* Return the index of the host with this clock, which is added if there is none; UINT32_MAX if
 * there are HOSTS_MAX or memory is exhausted. boot_id: kept by the caller. */
uint32_t hosts_find(struct hosts *h, const char *boot_id);

/* Align all clocks by edges, which are sorted. Returns 0 or -ENOMEM. */
int hosts_align(struct hosts *h, struct edges *e);

#endif
