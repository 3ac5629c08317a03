/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_nvtxt.c - fuzz target of the NVTXT reader: lines, comments of libtrace, clocks, pushes and
 * pops. The first byte selects the clock.
 *
 * clang -fsanitize=fuzzer provides main().
 */
#include <stdlib.h>
#include <string.h>

#include "reader/nvtxt/parse.h"
#include "reader/nvtxt/resolve.h"

static void note_problem(void *user, const struct nvtxt_problem *p)
{
	const struct nvtxt_file *f = user;
	if (!p->line || p->line > f->line || !p->column || !p->text[0])
		abort();
}

/* Abort unless every remaining event is resolved: not a pop, with valid times and ids. */
static void events_check(const struct nvtxt_file *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct nvtxt_event *e = &f->events[i];
		if (e->kind == NVTXT_EVENT_NONE)
			continue;
		if (e->kind == NVTXT_EVENT_POP || e->start < 0 || e->end < e->start ||
			(e->process > NVTXT_IDS_MAX && e->kind != NVTXT_EVENT_NAME))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct nvtxt_clock clocks[] = {{.session_start_ns = 1000},
		{.scale = NVTXT_LERP, .ns_a = 5, .ns_b = INT64_MAX},
		{.scale = NVTXT_LERP,
			.ns_a = 5,
			.ns_b = 50,
			.ticks_a = 7,
			.ticks_b = INT64_MAX,
			.has_ticks_a = true,
			.has_ticks_b = true},
		{.scale = NVTXT_LIN, .ns_a = INT64_MAX, .hertz = 1},
		{.scale = NVTXT_LIN, .hertz = UINT64_MAX}};
	struct pool pool = {0};
	struct nvtxt_file file;
	if (!size)
		return 0;
	const struct nvtxt_clock *clock = &clocks[data[0] % (sizeof(clocks) / sizeof(clocks[0]))];
	const char *at = (const char *)data + 1, *end = (const char *)data + size;
	if (nvtxt_file_init(&file, &pool))
		return 0;
	file.problem = note_problem;
	file.user = &file;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		nvtxt_file_line(&file, at, (size_t)((newline ? newline : end) - at));
		at = newline ? newline + 1 : end;
	}
	if (!nvtxt_resolve(&file, clock))
		events_check(&file);
	nvtxt_file_release(&file);
	pool_release(&pool);
	return 0;
}
