/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_file.c - the file of this library.
 */
#define _GNU_SOURCE
#include "inject/own_file.h"

#include <dlfcn.h>
#include <stdint.h>

#include "tracer/base/libc.h"
#include "tracer/core/state.h"

char *own_file(void)
{
	Dl_info info;
	return libc.dladdr((void *)&session, &info) ? (char *)(uintptr_t)info.dli_fname : NULL;
}
