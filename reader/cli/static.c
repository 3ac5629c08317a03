/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static.c - replacement for the dynamic loader in a statically linked `trace`.
 *
 * libdw and SQLite call dlopen() for optional parts. In a statically linked program, glibc's
 * dlopen() would load the machine's C library, and abort if its version differs. The functions here
 * fail, as if the library were missing; libtrace-host calls shared libraries instead.
 */
#include <stddef.h>

/* The linker replaces references to dlopen() by references to __wrap_dlopen() (ld's --wrap). */
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file, (void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	return (char *)"a statically linked program loads no libraries";
}
