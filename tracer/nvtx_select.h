/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_select.h - which NVTX domains are recorded, and which ranges are capture ranges.
 *
 * Only asked while `nvtx_selects`: without such options NVTX pays one test. Any thread,
 * async-signal-safe, no system call.
 */
#ifndef TRACER_NVTX_SELECT_H
#define TRACER_NVTX_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/names.h"
#include "tracer/nvtx.h"

/* Is there anything to select by? */
extern bool nvtx_selects __attribute__((visibility("hidden")));

/* Reads the options. Once, before any event, when the tree is joined. */
void nvtx_select_start(void);

/* Is a domain of this name (bytes 0: the default one) to be recorded? */
bool nvtx_select_includes(const char *name, uint32_t bytes);

/* What a range that begins is (enum nvtx_frame_flag): FRAME_SILENT in a domain that is not
 * recorded; FRAME_CAPTURE: it is a capture range, which has begun. `text` is its message where that
 * is not a name. */
uint32_t nvtx_select_range(const struct name *domain, const struct nvtx_event *event,
	const char *text, uint32_t bytes);

/* Is nothing of this domain recorded? */
static inline bool nvtx_select_excludes(const struct name *domain)
{
	return __builtin_expect(nvtx_selects, 0) &&
		!nvtx_select_includes(domain ? domain->text : "", domain ? domain->bytes : 0);
}

#endif
