/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - calls of NVTXT commands, which add events to the file. Used only inside reader/nvtxt/.
 * One thread; allocates.
 */
#ifndef READER_NVTXT_CALL_H
#define READER_NVTXT_CALL_H

#include "reader/nvtxt/state.h"

/* Check whether an argument accepts a value. Returns NULL, or the reason why not; then *ret_error
 * is NVTXT_PARSING_ERROR for a wrong type, else NVTXT_RANGE_ERROR. */
const char *nvtxt_value_check(enum nvtxt_argument argument, const struct nvtxt_value *value,
	enum nvtxt_problem_kind *ret_error);

/* Run a call of the command `name` (pooled) at `column` of the current line; its values are the
 * items of the line. Problems are reported to the file. */
void nvtxt_call(struct nvtxt_file *f, const char *name, uint32_t column);

#endif
