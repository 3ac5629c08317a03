/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer_lane.h - a spool for unit tests of lanes: one call as a wrapper makes it, and the records
 * that a consumer would read.
 */
#ifndef TESTS_UNIT_TRACER_LANE_H
#define TESTS_UNIT_TRACER_LANE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tap.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/osrt/osrt.h"
#include "tracer/core/writer_wait.h"
#include "tracer/session/session.h"
#include "tracer/session/thread_end.h"
#include "tracer/core/spool_file.h"

static struct tree_control control;
static char folder[] = "/tmp/libtrace-lane-XXXXXX";

static void spool_make(uint64_t limit_bytes)
{
	static int number;
	int error = 0;
	thread_forget(&thread_self);
	memset(&thread_self, 0, sizeof(thread_self));
	snprintf(session.spool_path, sizeof(session.spool_path), "%s/%d.spool", folder, number++);
	spool_file_forget();
	session.spool = spool_file_create(session.spool_path, limit_bytes, &error);
	if (!session.spool)
		return;
	spool_file_publish(session.spool_path);
	session.spool->limit_bytes = limit_bytes;
	session.control = &control;
	writer_wait_reset();
	session.pid = (uint32_t)sys_getpid();
	session.state = SESSION_ON;
	tree_gate = 1;
	gate_use(true);
	for (int i = 0; i < CHAIN_CLASSES; i++)
		own_words.chains_ticks[i] = UINT64_MAX;
	thread_stack_set(
		&thread_self, (uint64_t)(uintptr_t)__builtin_frame_address(0) + 65536, 131072);
	clock_point_take(&session.spool->first);
}

__attribute__((unused)) static struct lane *lane_number(unsigned i)
{
	return spool_file_at(session.spool->lane_offset[i]);
}

static struct record *record_at(const struct lane *lane, uint64_t position)
{
	char *chunk = spool_file_at(lane_chunk_offset(lane, position / CHUNK_BYTES));
	return (struct record *)(void *)(chunk + position % CHUNK_BYTES);
}

static void put_call(uint64_t value)
{
	struct call call;
	if (osrt_begin(&call, 1))
		osrt_end(&call, 1, value, 0);
}

/* Walk the records that the consumer would read. Return how many calls there are, and whether their
 * values count up from `first`. */
__attribute__((unused)) static uint64_t calls_in(
	const struct lane *lane, uint64_t from, uint64_t first, bool *ret_in_order)
{
	uint64_t calls = 0;
	*ret_in_order = true;
	for (uint64_t at = from; at < lane->head;) {
		const struct record *r = record_at(lane, at);
		unsigned kind = r->word & RECORD_KIND_MASK;
		uint64_t extra = kind >= REC_PAD ? r->word >> RECORD_LENGTH_SHIFT : 0;
		at += RECORD_BYTES + (extra + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
		if (kind == REC_PAD)
			at = (at + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
		if (kind != 1)
			continue;
		*ret_in_order = *ret_in_order && r->a == first + calls;
		calls++;
	}
	return calls;
}

static int lanes_done(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0 || tap_done();
}

#endif
