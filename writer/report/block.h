/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h - one block of the report: collects entries, then seals them under a header with checksum
 * and sequence number.
 *
 * Use: block_init(), then repeatedly { block_put_*() ..., block_seal(), append the parts,
 * block_reset() }. The sealed parts stay valid and unchanged until block_reset(): a block that
 * could not be written is written again later. One thread; may allocate; does not block.
 */
#ifndef WRITER_REPORT_BLOCK_H
#define WRITER_REPORT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/buffer.h"
#include "ncu.pb-c.h"
#include "report.pb-c.h"
#include "writer/report/batch.h"
#include "writer/report/strings.h"

#define BLOCK_BYTES_MAX                                                                    \
	(1u << 20) /* uncompressed, about 130,000 calls: the cost of header and write() is \
		      negligible, and little is held in memory or lost */
#define BLOCK_POSITIONS_MAX 1024u /* keeps the header under 64 KiB */
#define BLOCK_FORMAT_VERSION 1u
#define BLOCK_PARTS 5u

struct block {
	struct buffer sources; /* standard entries: modules of device code */
	struct buffer results; /* standard entries: results of kernels */
	struct buffer front;   /* our entries that are not batches: readers see them first */
	struct buffer body;    /* batches */
	struct buffer header, packed;
	Libtrace__LanePosition *positions;
	uint32_t position_count;
	uint32_t num_entries, num_sources, num_results;
	const char *const *metric_names; /* names of all results; written if there are results */
	uint32_t metric_count;
	uint64_t num_events, num_dropped, num_deferred, first_ns, last_ns;
	void *zstd;                              /* NULL = no compression */
	bool broken;                             /* memory was short, so data is missing */
	const Libtrace__SessionDetails *session; /* written when the block is sealed */
	struct iovec parts[BLOCK_PARTS];
};

/* The facts about the file in the header of a block. */
struct block_identity {
	uint64_t sequence;
	uint32_t root_pid;
	const char *hostname, *process_name, *producer; /* producer: in block 0 only, else NULL */
	const Libtrace__SessionDetails *session;        /* block 0 only */
};

/* Start an empty block; with `compress`, its body is compressed by zstd. Return 0 or -ENOMEM;
 * block_release() frees the buffers in both cases. One thread. */
int block_init(struct block *block, bool compress);
void block_release(struct block *block);

/* Return true if there is nothing to write: no entry of any kind, no position, no details of the
 * session. */
bool block_is_empty(const struct block *block);

/* Return true if there is no room for the largest output of one chunk of a spool. */
bool block_is_full(const struct block *block, const struct strings *strings);

/* Add an entry, packed at once: the caller keeps `entry`. An entry that is too long, or for which
 * memory is short, is left out and sets `broken`. */
void block_put_entry(struct block *block, const Libtrace__Entry *entry);

/* Add a standard entry: a module of device code. */
void block_put_source(struct block *block, const Ncu__SourceData *source);

/* Add a standard entry: results of a kernel. Its metrics are indexes of the table of names, which
 * is the same for all results of a file and stays valid. */
void block_put_result(struct block *block, const Ncu__ProfileResult *result,
	const char *const *metric_names, uint32_t metric_count);

/* Add details of the session to the header. They must stay valid until the block is sealed. */
void block_put_session(struct block *block, const Libtrace__SessionDetails *session);

/* Encode the rows, if any. block_note_events() adds times and counts to the header. */
void block_put_batch(struct block *block, const struct batch *batch);
void block_note_events(struct block *block, uint64_t count, uint64_t first_ns, uint64_t last_ns);

/* Store the position of a lane, replacing an earlier position of the same lane. Fields as in
 * report.proto. */
void block_put_position(struct block *block, const Libtrace__LanePosition *position);

/* Add the pending strings and seal the block: block->parts are its bytes. Return 0 or -ENOMEM. */
int block_seal(struct block *block, struct strings *strings, const struct block_identity *identity);
void block_reset(struct block *block);

#endif
