/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - records of what was written to standard output and error.
 */
#define _GNU_SOURCE
#include "tracer/streams/streams.h"

#include <stdbool.h>
#include <unistd.h>

#include "common/clock.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"
#include "tracer/session/attach.h"
#include "tracer/session/fork.h"

static void put(struct thread *t, unsigned n, const char *data, uint64_t bytes)
{
	struct stream_counts *counts = &session.spool->streams;
	uint64_t limit = session.config.streams_bytes, tick = clock_ticks(),
		 at = __atomic_fetch_add(&counts->written[n], bytes, __ATOMIC_RELAXED),
		 kept = at >= limit  ? 0
		: limit - at < bytes ? limit - at
				     : bytes;
	uint64_t bits = n + 1, piece;
	if (kept < bytes)
		__atomic_fetch_add(&counts->beyond[n], bytes - kept, __ATOMIC_RELAXED);
	if (kept && stream_is_redirected(n))
		bits |= STREAM_REDIRECTED;
	for (uint64_t done = 0; done < kept && t->lane; done += piece) {
		piece = kept - done < STREAM_PIECE_BYTES ? kept - done : STREAM_PIECE_BYTES;
		if (!lane_put(t, tick, REC_STREAM, at + done, bits, data + done, piece) &&
			session.spool)
			__atomic_fetch_add(
				&session.spool->streams.unrecorded, piece, __ATOMIC_RELAXED);
	}
}

/* Enter the tracer. Return false if nothing can be recorded here. A vfork child has descriptors of
 * its own, but its parent's memory. */
static bool enter(struct thread *t, uint64_t bytes)
{
	if (!gate_is_open() || t->vfork_pid || (t->shared && thread_is_stray(t)))
		return false;
	thread_mend_guard(t);
	if (!t->busy && thread_enter_attached(t)) {
		if (session.spool)
			return true;
		thread_leave(t);
	}
	if (t->busy && t->lane && session.spool) { /* in a handler that interrupted the tracer */
		t->lane->dropped[DROP_NESTED]++;
		__atomic_fetch_add(&session.spool->streams.unrecorded, bytes, __ATOMIC_RELAXED);
	}
	return false;
}

void streams_wrote(int fd, const void *data, uint64_t bytes)
{
	struct thread *t = &thread_self;
	if ((fd != STDOUT_FILENO && fd != STDERR_FILENO) || !enter(t, bytes))
		return;
	put(t, (unsigned)fd - 1, data, bytes);
	thread_leave(t);
}

void streams_wrote_vector(int fd, const struct iovec *vector, int count, uint64_t bytes)
{
	for (int i = 0; i < count && bytes; i++) {
		uint64_t part = vector[i].iov_len < bytes ? vector[i].iov_len : bytes;
		if (part)
			streams_wrote(fd, vector[i].iov_base, part);
		bytes -= part;
	}
}
