/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - comparison of keys, for the functions that qsort() and bsearch() call.
 */
#ifndef READER_BASE_ORDER_H
#define READER_BASE_ORDER_H

#include <stdint.h>

/* Return -1, 0 or 1: whether the first number is less, equal or greater. Any thread. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
