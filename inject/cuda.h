/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the ways CUDA lets us in, for the other files of inject/.
 */
#ifndef INJECT_CUDA_H
#define INJECT_CUDA_H

#include <stdbool.h>

/* In our constructor: the program is linked with the driver. */
void cuda_linked(void);

/* getenv() is asked for CUDA_INJECTION64_PATH by code at `caller`: is that the driver, and should
 * it load us? */
bool cuda_asks_for_tool(const void *caller);

#endif
