/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_packet.h - packets of a Perfetto trace, and entries of its interned data, for the
 * perfetto*.c files. All packets are of one sequence.
 */
#ifndef READER_EXPORT_TIMELINE_PERFETTO_PACKET_H
#define READER_EXPORT_TIMELINE_PERFETTO_PACKET_H

#include "reader/export/proto.h"

enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	INTERNED_NUMBER = 1
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };

#define PERFETTO_SEQUENCE 1u

/* Begin a packet; end it by proto_close(). */
static inline size_t packet_open(struct proto *p, uint64_t flags)
{
	size_t packet = proto_open(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE, PERFETTO_SEQUENCE);
	proto_u64(p, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

/* Begin a packet with one entry of the interned data: its table `field`, and its id there. */
static inline size_t interned_open(
	struct proto *p, uint32_t field, uint64_t number, size_t offsets[2])
{
	offsets[0] = packet_open(p, NEEDS_STATE);
	offsets[1] = proto_open(p, PACKET_INTERNED);
	size_t entry = proto_open(p, field);
	proto_u64(p, INTERNED_NUMBER, number);
	return entry;
}

static inline void interned_close(struct proto *p, size_t entry, const size_t offsets[2])
{
	proto_close(p, entry);
	proto_close(p, offsets[1]);
	proto_close(p, offsets[0]);
}

#endif
