/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfunctions_copy2.c - the other copy of libfunctions_copy.c.
 */
#define COPY 2
#include "libfunctions_copy.c"
