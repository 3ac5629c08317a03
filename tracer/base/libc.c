/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc.c - functions that not every C library has, and dlopen(), which our wrapper interposes.
 */
#define _GNU_SOURCE
#include "tracer/base/libc.h"

#include <aio.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <utmp.h>

#include "tracer/base/rtld_next.h"

/* Internal functions of glibc until 2.33: dlopen() and dlsym() without libdl. */
void *__libc_dlopen_mode(const char *name, int mode);
void *__libc_dlsym(void *library, const char *name);
extern char __libc_single_threaded;     /* since glibc 2.32 */
#define MODE_OF_PROGRAM (int)0x80000000 /* __RTLD_DLOPEN of glibc's include/dlfcn.h */

#pragma weak __libc_dlopen_mode
#pragma weak __libc_dlsym
#pragma weak dlsym
#pragma weak dlvsym
#pragma weak dladdr
#pragma weak pthread_key_create
#pragma weak pthread_setspecific
#pragma weak pthread_testcancel
#pragma weak pthread_attr_getstacksize
#pragma weak on_exit
#pragma weak __libc_single_threaded
#pragma weak lio_listio
#pragma weak login_tty

struct libc libc = {.dlsym = dlsym,
	.dlvsym = dlvsym,
	.dladdr = dladdr,
	.pthread_key_create = pthread_key_create,
	.pthread_setspecific = pthread_setspecific,
	.pthread_testcancel = pthread_testcancel,
	.pthread_attr_getstacksize = pthread_attr_getstacksize,
	.on_exit = on_exit,
	.single_threaded = &__libc_single_threaded};

libc_dlopen_fn libc_dlopen(void)
{
	static libc_dlopen_fn found;
	if (__builtin_expect(!found, 0))
		*(void **)(void *)&found = libc.dlsym(RTLD_NEXT, "dlopen");
	return found;
}

bool libc_library_of(uint64_t function, const char *name, void **ret_library, const char **ret_file)
{
	Dl_info info, same;
	if (!libc.dladdr || !libc.dlsym || !libc_dlopen() ||
		!libc.dladdr((const void *)(uintptr_t)function, &info) || !info.dli_fname)
		return false;
	const void *found = name ? libc.dlsym(RTLD_DEFAULT, name) : NULL;
	*ret_file = info.dli_fname;
	*ret_library = RTLD_DEFAULT;
	if (found && libc.dladdr(found, &same) && same.dli_fbase == info.dli_fbase)
		return true;
	*ret_library = libc_dlopen()(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return *ret_library;
}

void libc_function_find(void *library, const char *name, void *ret_function)
{
	*(void **)ret_function = libc.dlsym(library, name);
}

uint64_t libc_find_beside(uint64_t function, const char *name)
{
	int (*dladdr1_real)(const void *address, Dl_info *info, void **ret_extra, int flags);
	struct link_map *map = NULL;
	Dl_info info;
	uint64_t bytes = 0;
	libc_function_find(RTLD_DEFAULT, "dladdr1", &dladdr1_real);
	if (!dladdr1_real ||
		!dladdr1_real((const void *)(uintptr_t)function, &info, (void **)(void *)&map,
			RTLD_DL_LINKMAP) ||
		!map)
		return 0;
	return rtld_find_in(map, name, &bytes);
}

void libc_error_forget(void)
{
	static char *(*dlerror_real)(void);
	if (!dlerror_real)
		*(void **)(void *)&dlerror_real = libc.dlsym(RTLD_DEFAULT, "dlerror");
	if (dlerror_real)
		dlerror_real();
}

/* The libraries that glibc 2.34 has merged into libc, and a function of each that we do not
 * interpose. */
static const struct part {
	const char *file;
	const void *function;
} parts[] = {{"libpthread.so.0", (const void *)pthread_key_create},
	{"libdl.so.2", (const void *)dlvsym}, {"librt.so.1", (const void *)lio_listio},
	{"libutil.so.1", (const void *)login_tty}};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static bool loaded;

static bool part_is_missing(const struct part *part)
{
	return !part->function && !loaded && __libc_dlopen_mode && __libc_dlsym;
}

bool libc_is_complete(void)
{
	for (size_t i = 0; i < PARTS; i++)
		if (part_is_missing(&parts[i]))
			return false;
	return libc_is_sufficient();
}

bool libc_is_sufficient(void)
{
	return libc.dlsym && libc.dlvsym && libc.dladdr && libc.pthread_key_create &&
		libc.pthread_setspecific && libc.pthread_testcancel && libc.on_exit;
}

static void part_load(const char *file)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define FUNCTION(name) {#name, offsetof(struct libc, name)}
		FUNCTION(dlsym), FUNCTION(dlvsym), FUNCTION(dladdr), FUNCTION(pthread_key_create),
		FUNCTION(pthread_setspecific), FUNCTION(pthread_testcancel),
		FUNCTION(pthread_attr_getstacksize)};
	void *part = __libc_dlopen_mode(file, RTLD_NOW | RTLD_GLOBAL | MODE_OF_PROGRAM);
	if (!part)
		return;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void **place = (void **)(void *)((char *)&libc + functions[i].offset);
		if (!*place)
			*place = __libc_dlsym(part, functions[i].name);
	}
}

void libc_complete(void)
{
	for (size_t i = 0; i < PARTS; i++)
		if (part_is_missing(&parts[i]))
			part_load(parts[i].file);
	loaded = true;
}
