/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - events from the records of CPU samples.
 */
#include "writer/cpu/samples.h"

uint32_t cpu_sample_put(struct segment *s, const struct record_at *at)
{
	const struct record *r = at->r;
	struct batch *b = segment_row_add(s, EVENT_CPU_SAMPLE, segment_ns(s, r->tick));
	batch_set(b, CPU_SAMPLE_CPU, r->a >> 48 & 0x7fff);
	batch_set(b, CPU_SAMPLE_PERIODS, r->a & SAMPLE_PERIODS_MASK);
	batch_set(b, CPU_SAMPLE_MODE, (uint32_t)r->a >> SAMPLE_MODE_SHIFT);
	batch_set(b, CPU_SAMPLE_CPU_TIME, r->b);
	batch_set(b, CPU_SAMPLE_FLAGS,
		(r->word >> RECORD_FLAGS_SHIFT & RECORD_NESTED) |
			(r->a & SAMPLE_IN_STEP ? RECORD_IN_STEP : 0));
	batch_set(b, CPU_SAMPLE_CALLCHAIN, s->callchain);
	batch_set(b, CPU_SAMPLE_CALLCHAIN_METHOD, s->callchain ? s->callchain_method : 0);
	if (r->a >> 32 & 0xffff)
		batch_set(b, CPU_SAMPLE_FUNCTION,
			strings_function_id(
				&s->w->report.strings, (uint32_t)(r->a >> 32 & 0xffff)));
	s->callchain = 0;
	return at->slots;
}
