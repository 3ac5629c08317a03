/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asan.c - programs built with -fsanitize=address and a shared runtime, which would refuse to start
 * with this library before it.
 *
 * The runtime refuses by default, since a preloaded library may hide what it intercepts. Our
 * wrappers pass every call on to the next library, which is the runtime, so its check may be
 * switched off.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "common/text.h"
#include "tracer/base/libc.h"
#include "tracer/base/relocate.h"

#define ALLOW "verify_asan_link_order=0"

const char *asan_options(void) __asm__("__asan_default_options")
	__attribute__((visibility("default")));

/*
 * The runtime asks for its default options before any constructor runs; ASAN_OPTIONS overrides
 * them. Our options are added to those of a library after us. If the program defines the function
 * itself, the program's function is called instead of ours: elf_look() finds it.
 */
const char *asan_options(void)
{
	relocate_check();
	static char options[1024];
	const char *(*next)(void) = NULL;
	if (libc.dlsym)
		next = (const char *(*)(void))(uintptr_t)libc.dlsym(
			RTLD_NEXT, "__asan_default_options");
	const char *theirs = next ? next() : NULL;
	if (!theirs || !*theirs)
		return ALLOW;
	size_t length = text_length(theirs);
	if (text_find(theirs, "verify_asan_link_order") ||
		length + sizeof(":" ALLOW) > sizeof(options))
		return theirs;
	text_append(options, sizeof(options), text_append(options, sizeof(options), 0, theirs),
		":" ALLOW);
	return options;
}
