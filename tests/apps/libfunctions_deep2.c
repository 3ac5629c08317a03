/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lfunctions_copy2 -Wl,-z,lazy
/*
 * libfunctions_deep2.c - the plugin of libfunctions_deep.c with frames of other sizes, and the
 * other copy of the library.
 */
#define FRAME(n) (216 - (n))
#include "libfunctions_deep.c"
