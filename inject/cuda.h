/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the driver's question for a tool, for the other files of inject/.
 */
#ifndef INJECT_CUDA_H
#define INJECT_CUDA_H

#include <stdbool.h>

/* Return true if getenv() is asked for CUDA_INJECTION64_PATH by code at `caller` that is the
 * driver, and the driver should load this library. */
bool cuda_asks_for_tool(const void *caller);

#endif
