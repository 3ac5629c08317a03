/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_name.h - names of functions as CUPTI writes them.
 */
#ifndef TRACER_CUDA_FUNCTION_NAME_H
#define TRACER_CUDA_FUNCTION_NAME_H

#include <stdbool.h>

#include "common/text.h"

/* Return true if `name` is `plain`, or `plain` with a version suffix that CUPTI adds (_v3020,
 * _ptsz_v7000, _v2). Any thread. */
static inline bool cuda_function_is(const char *name, const char *plain)
{
	size_t length = text_length(plain);
	if (!text_begins(name, plain))
		return false;
	const char *rest = name + length;
	if (text_begins(rest, "_ptsz") || text_begins(rest, "_ptds"))
		rest += 5;
	return !*rest || (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9');
}

#endif
