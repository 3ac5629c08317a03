/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -O2 -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
/* libchain_two.c - libchain_one with other names. */
#define CHAIN_NAME(name) two_##name
#include "libchain_one.c"
