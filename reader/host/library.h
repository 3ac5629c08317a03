/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - shared libraries that libtrace-host loads. They are never unloaded, because the
 * process is short-lived.
 */
#ifndef READER_HOST_LIBRARY_H
#define READER_HOST_LIBRARY_H

#include <dlfcn.h>
#include <stdint.h>

/* Load a library by name or path. Returns NULL if that fails. */
static inline void *library_open(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* Store the address of a function in the function pointer at `ret_function`; NULL if the library
 * does not export it. */
static inline void library_find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = dlsym(library, name);
}

#endif
