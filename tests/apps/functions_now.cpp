/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS x86_64: -mavx
// LINK: -lfunctions -ldl -Wl,-z,now -Wl,-z,relro
/*
 * functions_now.cpp - functions.cpp, with tables that are bound at the start and write-protected.
 */
#include "functions.cpp"
