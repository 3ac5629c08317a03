/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h - selection of NVTX domains, and of the ranges that are capture ranges or have hooks.
 *
 * Called only if `nvtx_selects` is true: without such options NVTX calls cost one test more. Any
 * thread, async-signal-safe, no system call.
 */
#ifndef TRACER_NVTX_SELECT_H
#define TRACER_NVTX_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/core/names.h"
#include "tracer/nvtx/ranges.h"

/* True if options select domains, name a capture range, or want metrics of ranges. */
extern bool nvtx_selects __attribute__((visibility("hidden")));

/* Return true if a domain of this name (bytes 0: the default one) is recorded. */
bool nvtx_select_includes(const char *name, uint32_t bytes);

/* Return the flags of a range that begins (enum nvtx_frame_flag): FRAME_SILENT in a domain that is
 * not recorded; FRAME_CAPTURE if it is a capture range, which has then been counted. `text` is its
 * message unless the message is a name; of a longer one it has a struct nvtx_long at its end. */
uint32_t nvtx_select_range(const struct name *domain, const struct nvtx_event *event,
	const char *text, uint32_t bytes);

/* Return the same for a range of push and pop, and FRAME_HOOKED if a hook of range_hooks.h is to be
 * called at its end; nvtx_select_pop() does what a range with these flags demands at its end.
 * `is_left`: its thread ends before. With a lane, thread.busy set. */
uint32_t nvtx_select_push(
	struct name *domain, const struct nvtx_event *event, const char *text, uint32_t bytes);
void nvtx_select_pop(uint32_t flags, bool is_left);

/* Return true if nothing of this domain is recorded. */
static inline bool nvtx_select_excludes(const struct name *domain)
{
	return __builtin_expect(nvtx_selects, 0) &&
		!nvtx_select_includes(domain ? domain->text : "", domain ? domain->bytes : 0);
}

#endif
