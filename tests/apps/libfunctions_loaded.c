/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -lfunctions
/*
 * libfunctions_loaded.c - a plugin whose constructor calls a library's function already.
 */
#include "functions.h"

int loaded_count;

__attribute__((constructor)) static void begin(void)
{
	loaded_count = f_count();
}

int loaded_call(void)
{
	return f_count();
}
