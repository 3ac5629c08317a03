/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asan.c - programs built with -fsanitize=address and a shared runtime start with us before it.
 *
 * The runtime refuses that by default, since a preloaded library may take away what it intercepts.
 * We pass every call on to the next library, which is the runtime, so it may be told not to look.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#include "common/text.h"
#include "tracer/libc.h"
#include "tracer/relocate.h"

#define ALLOW "verify_asan_link_order=0"

const char *asan_options(void) __asm__("__asan_default_options")
	__attribute__((visibility("default")));

/*
 * The runtime asks for its default options before any constructor runs; ASAN_OPTIONS overrides
 * them. Ours are added to those of a library behind us. A program that gives them itself is asked
 * instead of us: elf_look() knows it.
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
