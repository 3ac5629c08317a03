/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - events from the calls of library functions, and those that a dead process left open.
 *
 * For the contracts, see lane/segment.h and lane/ending.h.
 */
#ifndef WRITER_FUNCTIONS_CALLS_H
#define WRITER_FUNCTIONS_CALLS_H

#include "writer/lane/ending.h"
#include "writer/lane/segment.h"

record_put function_call_put, function_words_put;
lane_end_put functions_open_put;

#endif
