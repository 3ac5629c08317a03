/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx.h - NVTX ranges and marks; without the headers of NVTX these calls do nothing.
 */
#ifndef TESTS_HOSTILE_NVTX_H
#define TESTS_HOSTILE_NVTX_H

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#else
#define HAVE_NVTX 0
static inline void nvtxMarkA(const char *text)
{
	(void)text;
}
static inline int nvtxRangePushA(const char *text)
{
	(void)text;
	return 0;
}
static inline int nvtxRangePop(void)
{
	return 0;
}
static inline unsigned long nvtxRangeStartA(const char *text)
{
	(void)text;
	return 0;
}
static inline void nvtxRangeEnd(unsigned long range)
{
	(void)range;
}
#endif

#endif
