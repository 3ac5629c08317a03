/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.c - the lock-free table of NVTX ranges between start and end.
 */
#define _GNU_SOURCE
#include "tracer/nvtx/spans.h"

#include <stdbool.h>
#include <stddef.h>

#include "common/sys.h"
#include "tracer/core/state.h"
#include "tracer/core/spool_file.h"

/* An id is generation << ID_BITS with index + 1 in the lower bits. Free spans form a stack: the
 * lower half of its head is the index + 1 of the topmost span, the upper half a count, so that a
 * head that was popped and pushed again differs. */
#define ID_BITS 13u
#define ID_MASK ((UINT64_C(1) << ID_BITS) - 1)
_Static_assert(NVTX_SPANS_MAX < ID_MASK, "ids have too few bits for the index");

static struct nvtx_span *chunks[NVTX_SPAN_CHUNKS_MAX];
static uint16_t below[NVTX_SPANS_MAX];   /* the next span in the stack of free spans */
static uint64_t open_id[NVTX_SPANS_MAX]; /* the thread that clears it ends the range */
static uint64_t *other_id; /* of each: id of the range in another tool; mapped when there is one */
static uint64_t free_head;
static uint32_t fresh; /* index of the first span that was never used */
static uint64_t generation;

void spans_forked(void)
{
	for (uint32_t i = 0; i < NVTX_SPAN_CHUNKS_MAX; i++)
		chunks[i] = NULL;
	for (uint32_t i = 0; i < fresh && i < NVTX_SPANS_MAX; i++)
		open_id[i] = 0;
	free_head = 0;
	fresh = 0;
}

static struct nvtx_span *chunk_make(uint32_t number)
{
	uint64_t *kept = &session.spool->nvtx_span_chunk[number], none = 0;
	uint64_t offset = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
	void *place;
	if (!offset) {
		offset = spool_file_take(CHUNK_BYTES, CHUNK_BYTES, &place);
		if (!offset)
			return NULL;
		if (!__atomic_compare_exchange_n(
			    kept, &none, offset, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			offset = none;
	}
	struct nvtx_span *chunk = spool_file_at(offset);
	__atomic_store_n(&chunks[number], chunk, __ATOMIC_RELEASE);
	return chunk;
}

static struct nvtx_span *span_at(uint32_t index)
{
	uint32_t number = index / NVTX_SPANS_PER_CHUNK;
	struct nvtx_span *chunk = __atomic_load_n(&chunks[number], __ATOMIC_ACQUIRE);
	if (__builtin_expect(!chunk, 0))
		chunk = chunk_make(number);
	return chunk ? chunk + index % NVTX_SPANS_PER_CHUNK : NULL;
}

static void index_give(uint32_t index)
{
	uint64_t head = __atomic_load_n(&free_head, __ATOMIC_RELAXED), next;
	do {
		below[index] = (uint16_t)head;
		next = ((head >> 32) + 1) << 32 | (index + 1);
	} while (!__atomic_compare_exchange_n(
		&free_head, &head, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Return a free index; NVTX_SPANS_MAX = none is left. */
static uint32_t index_take(void)
{
	uint64_t head = __atomic_load_n(&free_head, __ATOMIC_ACQUIRE), next;
	while ((uint32_t)head) {
		uint32_t index = (uint32_t)head - 1;
		next = ((head >> 32) + 1) << 32 | below[index];
		if (__atomic_compare_exchange_n(
			    &free_head, &head, next, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
			return index;
	}
	if (__atomic_load_n(&fresh, __ATOMIC_RELAXED) >= NVTX_SPANS_MAX)
		return NVTX_SPANS_MAX;
	uint32_t index = __atomic_fetch_add(&fresh, 1, __ATOMIC_RELAXED);
	return index < NVTX_SPANS_MAX ? index : NVTX_SPANS_MAX;
}

struct nvtx_span *spans_take(void)
{
	uint32_t index = index_take();
	if (index >= NVTX_SPANS_MAX)
		return NULL;
	struct nvtx_span *span = span_at(index);
	if (!span) {
		index_give(index);
		return NULL;
	}
	span->pad = index;
	return span;
}

uint64_t spans_new_id(const struct nvtx_span *span)
{
	uint64_t number = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
	return number << ID_BITS | (span->pad + 1);
}

void spans_open(struct nvtx_span *span, uint64_t id)
{
	__atomic_store_n(&span->id, id, __ATOMIC_RELEASE);
	__atomic_store_n(&open_id[span->pad], id, __ATOMIC_RELEASE);
}

uint64_t spans_no_id(void)
{
	return __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED) << ID_BITS | ID_MASK;
}

static struct nvtx_span *span_of(uint64_t id)
{
	uint64_t index = (id & ID_MASK) - 1;
	if (index >= NVTX_SPANS_MAX ||
		!__atomic_load_n(&chunks[index / NVTX_SPANS_PER_CHUNK], __ATOMIC_ACQUIRE))
		return NULL;
	return span_at((uint32_t)index);
}

const struct nvtx_span *spans_find(uint64_t id)
{
	struct nvtx_span *span = span_of(id);
	return span && __atomic_load_n(&open_id[(id & ID_MASK) - 1], __ATOMIC_ACQUIRE) == id ? span
											     : NULL;
}

static bool is_open(uint64_t id)
{
	uint64_t index = (id & ID_MASK) - 1;
	return index < NVTX_SPANS_MAX && __atomic_load_n(&open_id[index], __ATOMIC_ACQUIRE) == id;
}

bool spans_set_other(uint64_t id, uint64_t other)
{
	uint64_t *table =
		sys_mmap_table((void **)(void *)&other_id, NVTX_SPANS_MAX * sizeof(*table));
	if (table && is_open(id))
		table[(id & ID_MASK) - 1] = other;
	return table && is_open(id);
}

/* Return `id` itself for a range that we could not keep: the program has the other tool's id for
 * it. */
bool spans_other(uint64_t id, uint64_t *ret_other)
{
	*ret_other = other_id && is_open(id) ? other_id[(id & ID_MASK) - 1] : id;
	return *ret_other != 0;
}

struct nvtx_span *spans_claim(uint64_t id)
{
	uint64_t index = (id & ID_MASK) - 1;
	struct nvtx_span *span = span_of(id);
	if (!span)
		return NULL;
	return __atomic_compare_exchange_n(
		       &open_id[index], &id, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
		? span
		: NULL;
}

void spans_give(struct nvtx_span *span, uint64_t id)
{
	__atomic_store_n(&span->id, 0, __ATOMIC_RELEASE);
	index_give((uint32_t)(id & ID_MASK) - 1);
}
