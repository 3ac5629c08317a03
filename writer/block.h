/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - one block of the report: collects entries, then seals them under a header with checksum
 * and sequence number.
 *
 * Life: block_init(), then again and again { block_put_*() ..., block_seal(), append the parts,
 * block_reset() }. The sealed parts stay valid, and the same, until block_reset(): a block that
 * could not be written is written again later. One thread; may allocate; does not block.
 */
#ifndef WRITER_BLOCK_H
#define WRITER_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/buffer.h"
#include "ncu.pb-c.h"
#include "report.pb-c.h"
#include "writer/batch.h"
#include "writer/strings.h"

#define BLOCK_BYTES_MAX                                                                           \
	(1u << 20) /* raw; about 130,000 calls: enough to make header and write() nothing, little \
		      to lose or hold */
#define BLOCK_POSITIONS_MAX 1024u /* keeps the header under 64 KiB */
#define BLOCK_FORMAT_VERSION 1u
#define BLOCK_PARTS 5u

struct block {
	struct buffer sources; /* standard entries: modules of device code ... */
	struct buffer results; /* ... and results, before all of ours */
	struct buffer front;   /* entries that are no batches: they are seen first */
	struct buffer body;    /* batches */
	struct buffer header, packed;
	Libtrace__LanePosition *positions;
	uint32_t position_count;
	uint32_t num_entries, num_sources, num_results;
	const char *const *metric_names; /* of all results; told where there are some */
	uint32_t metric_count;
	uint64_t num_events, num_dropped, num_deferred, first_ns, last_ns;
	void *zstd;                              /* NULL = no compression */
	bool broken;                             /* memory was short: something is missing */
	const Libtrace__SessionDetails *session; /* until the block is sealed */
	struct iovec parts[BLOCK_PARTS];
};

/* What a header says of the file as a whole. */
struct block_identity {
	uint64_t sequence;
	uint32_t root_pid;
	const char *hostname, *process_name,
		*producer;                       /* the last one in block 0 only, else NULL */
	const Libtrace__SessionDetails *session; /* block 0 only */
};

int block_init(struct block *block, bool compress);
void block_release(struct block *block);
bool block_is_empty(const struct block *block);

/* No room for what one chunk of a spool may become. */
bool block_is_full(const struct block *block, const struct strings *strings);

void block_put_entry(struct block *block, const Libtrace__Entry *entry);

/* A standard entry: a module of device code. */
void block_put_source(struct block *block, const Ncu__SourceData *source);

/* A standard entry. Its metrics are numbers in the table of names, which is the same for all
 * results of a file and stays valid. */
void block_put_result(struct block *block, const Ncu__ProfileResult *result,
	const char *const *metric_names, uint32_t metric_count);

/* More details of the session; they stay valid until the block is sealed. */
void block_put_session(struct block *block, const Libtrace__SessionDetails *session);

/* Encodes the rows, if any. Times and counts of the header come by block_note_events(). */
void block_put_batch(struct block *block, const struct batch *batch);
void block_note_events(struct block *block, uint64_t count, uint64_t first_ns, uint64_t last_ns);

/* Replaces what was put for the same lane before. Fields as in report.proto. */
void block_put_position(struct block *block, const Libtrace__LanePosition *position);

/* Adds the pending strings and closes the block: block->parts holds its bytes. Returns 0 or
 * -ENOMEM. */
int block_seal(struct block *block, struct strings *strings, const struct block_identity *identity);
void block_reset(struct block *block);

#endif
