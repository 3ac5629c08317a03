/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - modules of device code, the hashes of their kernels and, by option, the code itself.
 *
 * CUPTI shows the cubin of a module only while the module is loaded. It is written to the thread's
 * lane in pieces, once for each content; the writer joins them.
 */
#include "tracer/cuda/cuda.h"

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/cuda/row.h"
#include "tracer/core/lane.h"
#include "tracer/core/state.h"

#define CUBINS_KNOWN 4096u
#define PIECE_BYTES (LANE_PAYLOAD_MAX - sizeof(struct cuda_cubin))

static uint64_t *known; /* CUBINS_KNOWN hashes of cubins that were seen; 0 = free */

/* Forget the hashes: a forked child has a report entry of its own, and sends every cubin again. */
void cuda_module_forked(void)
{
	for (uint32_t i = 0; known && i < CUBINS_KNOWN; i++)
		known[i] = 0;
}

/* Return true if this process has not seen this code. Without room to remember it, the code counts
 * as new. */
static bool is_new(uint64_t hash)
{
	if (session.restricted ||
		!sys_mmap_table((void **)(void *)&known, CUBINS_KNOWN * sizeof(*known)))
		return true;
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t *place = &known[(hash + i) % CUBINS_KNOWN], none = 0;
		if (__atomic_compare_exchange_n(
			    place, &none, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
		if (none == hash)
			return false;
	}
	return true;
}

/* Write the code in pieces, until there is no room for one: the writer detects that the cubin is
 * incomplete. */
static void cubin_put(struct thread *t, uint64_t hash, const struct cupti_module_data *m)
{
	struct {
		struct cuda_cubin head;
		uint8_t bytes[PIECE_BYTES];
	} piece = {.head = {.total_bytes = m->cubin_bytes}};
	while (piece.head.offset < m->cubin_bytes) {
		size_t left = m->cubin_bytes - piece.head.offset;
		size_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
		bytes_copy(piece.bytes, m->cubin + piece.head.offset, bytes);
		if (!lane_put(t, clock_ticks(), REC_CUDA_CUBIN, hash, 0, &piece,
			    sizeof(piece.head) + bytes))
			return;
		piece.head.offset += bytes;
	}
}

void cuda_module_put(struct thread *t, bool unload, const struct cupti_resource_data *data)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {0}, hash = 0;
	const struct cupti_module_data *m = data->descriptor;
	uint32_t context = 0;
	if (cupti.GetContextId && data->context)
		cupti.GetContextId(data->context, &context);
	if (m->cubin && m->cubin_bytes && !unload)
		hash = cuda_code_hash((const void *)m->cubin, m->cubin_bytes);
	if (hash && is_new(hash)) {
		if (session.config.cuda_cubins)
			cubin_put(t, hash, m);
		cuda_kernel_code_put(t, (const void *)m->cubin, m->cubin_bytes, hash);
	}
	values[COLUMN_CUDA_MODULE_CONTEXT_ID] = context;
	values[COLUMN_CUDA_MODULE_MODULE_ID] = m->module;
	values[COLUMN_CUDA_MODULE_CUBIN_BYTES] = m->cubin_bytes;
	values[COLUMN_CUDA_MODULE_CUBIN_HASH] = hash;
	values[COLUMN_CUDA_MODULE_IS_UNLOAD] = unload;
	cuda_row_put(t, NUMBER_CUDA_MODULE, clock_monotonic_ns(), 0, values);
}
