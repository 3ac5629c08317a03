/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the words of NVTX records.
 */
#ifndef TRACER_NVTX_RECORD_H
#define TRACER_NVTX_RECORD_H

#include <stdint.h>

#include "common/spool.h"
#include "tracer/core/lane.h"
#include "tracer/session/entry.h"

static inline uint64_t nvtx_word(enum record_kind kind, uint64_t flags, uint64_t bytes)
{
	return bytes << RECORD_LENGTH_SHIFT | flags << RECORD_FLAGS_SHIFT | kind;
}

#endif
