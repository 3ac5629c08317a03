/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - rows from the records of the MPI source.
 */
#include "writer/mpi/rows.h"

#include <string.h>

#include "common/schema/mpi_spool.h"
#include "writer/base/names.h"

static uint64_t of_signed(int64_t value)
{
	return (uint64_t)value;
}

uint32_t mpi_call_put(struct segment *s, const struct record_at *at)
{
	struct mpi_call c;
	const struct record r = *at->r;
	if (at->bytes != sizeof(c) || r.a < MPI_P2P || r.a > MPI_OTHER)
		return 0;
	memcpy(&c, at->payload, sizeof(c));
	uint64_t start = segment_ns(s, r.tick), end = segment_ns(s, r.tick + r.b);
	end = end > start ? end : start;
	uint32_t name = spool_name_id(s->w, s->spool, c.name);
	struct batch *b = segment_row_add(s, EVENT_MPI_CALL, start);
	batch_set(b, MPI_CALL_DURATION, end - start);
	batch_set(b, MPI_CALL_NAME, name);
	batch_set(b, MPI_CALL_CLASS, r.a);
	batch_set(b, MPI_CALL_COMM, c.comm);
	batch_set(b, MPI_CALL_TAG, of_signed(c.tag));
	batch_set(b, MPI_CALL_PEER, of_signed(c.peer));
	batch_set(b, MPI_CALL_ROOT, of_signed(c.root));
	batch_set(b, MPI_CALL_SIZE, of_signed(c.size));
	batch_set(b, MPI_CALL_RECEIVED, of_signed(c.received));
	batch_set(b, MPI_CALL_REQUEST, c.request);
	segment_note_end(s, end);
	segment_reload(s);
	return at->slots;
}

uint32_t mpi_communicator_put(struct segment *s, const struct record_at *at)
{
	struct mpi_communicator c;
	if (at->bytes != sizeof(c))
		return 0;
	memcpy(&c, at->payload, sizeof(c));
	uint64_t ns = segment_ns(s, at->r->tick);
	struct batch *b = segment_row_add(s, EVENT_MPI_COMMUNICATOR, ns);
	batch_set(b, MPI_COMMUNICATOR_RANK, of_signed(c.rank));
	batch_set(b, MPI_COMMUNICATOR_COMM, c.comm);
	batch_set(b, MPI_COMMUNICATOR_PARENT, c.parent);
	batch_set(b, MPI_COMMUNICATOR_LOCAL_RANK, of_signed(c.local_rank));
	batch_set(b, MPI_COMMUNICATOR_SIZE, of_signed(c.size));
	batch_set(b, MPI_COMMUNICATOR_ROOT, of_signed(c.group_root));
	batch_set(b, MPI_COMMUNICATOR_MEMBERS, c.members);
	batch_set(b, MPI_COMMUNICATOR_ORDINAL, c.ordinal);
	segment_note_end(s, ns);
	segment_reload(s);
	return at->slots;
}

uint32_t mpi_rank_put(struct segment *s, const struct record_at *at)
{
	const struct record r = *at->r;
	uint64_t ns = segment_ns(s, r.tick);
	struct batch *b = segment_row_add(s, EVENT_MPI_RANK, ns);
	batch_set(b, MPI_RANK_RANK, of_signed((int32_t)(r.a >> 32)));
	batch_set(b, MPI_RANK_SIZE, of_signed((int32_t)(uint32_t)r.a));
	batch_set(b, MPI_RANK_LIBRARY, r.b);
	segment_note_end(s, ns);
	segment_reload(s);
	return at->slots;
}
