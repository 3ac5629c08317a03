/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fno-plt
// CFLAGS x86_64: -mavx
// LINK: -lfunctions -ldl
/*
 * functions_noplt.cpp - functions.cpp, whose calls are made by addresses: R_X86_64_GLOB_DAT.
 */
#include "functions.cpp"
