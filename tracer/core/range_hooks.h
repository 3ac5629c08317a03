/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_hooks.h - what another source does at the bounds of NVTX ranges of push and pop.
 */
#ifndef TRACER_CORE_RANGE_HOOKS_H
#define TRACER_CORE_RANGE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct name;

/* Both are called on the thread of the range, with a lane and thread.busy set, perhaps in a signal
 * handler. */
struct range_hooks {
	/* A range begins that is recorded; `text`, of `bytes` bytes, is its message, and `message`
	 * the name that it has already, or NULL. Return true if end() is to be called. */
	bool (*begin)(struct name *domain, struct name *message, const char *text, uint32_t bytes);
	/* It ends; `is_left`: its thread ended before. */
	void (*end)(bool is_left);
};

/* NULL = no source wants them. Set before the first event. */
extern const struct range_hooks *range_hooks __attribute__((visibility("hidden")));

#endif
