/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_spool.h - the CUDA source's data in a spool, in addition to spool.h: the payload of an API
 * call, and a page of counts that survive the process.
 *
 * A REC_CUDA_ROW is a row of an event of schema/cuda.def as it is written to a batch: the time and,
 * if the event has one, the duration are in the record; the other columns follow in their order as
 * varints, zigzag if the column is SIGNED. A column of a text contains a name (as in NVTX records).
 * Columns at the end that are 0 are left out.
 */
#ifndef COMMON_CUDA_SPOOL_H
#define COMMON_CUDA_SPOOL_H

#include <stdint.h>

/* Payload of REC_CUDA_API; one slot. */
struct cuda_call {
	uint32_t name; /* name as in records; 0 = not known */
	uint32_t context;
	uint16_t cbid;
	uint8_t api; /* API row */
	uint8_t level;
	uint32_t pad;
	uint64_t pad2[2];
};

/* Payload of REC_CUDA_CUBIN, before the bytes of the piece. The pieces of a cubin follow each other
 * in a lane, in order; a missing piece ends the cubin. */
struct cuda_cubin {
	uint64_t total_bytes;
	uint64_t offset; /* offset of this piece */
};

/* Functions whose calls are only counted, not recorded. */
#define CUDA_COUNTED_MAX 128u
struct cuda_counted {
	uint64_t count; /* changed by any thread, atomically */
	uint32_t name;
	uint16_t cbid;
	uint16_t api;
};

/* The page at spool_header.cuda_offset, in a space of CUDA_PAGE_BYTES. Counts only grow. */
struct cuda_page {
	uint64_t records;  /* records that CUPTI handed over */
	uint64_t rows;     /* rows written to lanes */
	uint64_t dropped;  /* records that CUPTI says it dropped */
	uint64_t ignored;  /* records of unknown kinds */
	uint64_t unwanted; /* records of calls during which nothing was recorded */
	uint64_t impossible, converted;
	uint64_t buffers, buffers_refused;
	uint64_t unread; /* buffers that CUPTI could not read to their end */
	uint64_t api_calls;
	uint32_t counted_count; /* stored after the entry is complete */
	uint32_t pad;
	struct cuda_counted counted[CUDA_COUNTED_MAX];
};
#define CUDA_PAGE_BYTES 4096u
_Static_assert(sizeof(struct cuda_page) <= CUDA_PAGE_BYTES, "the counts must fit their page");

#endif
