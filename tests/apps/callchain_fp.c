/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
// LINK: -ldl -rdynamic
/* callchain_fp.c - callchain, compiled with frame pointers. */
#include "callchain.c"
