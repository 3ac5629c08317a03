/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - the entry of the source `functions`: before the constructors of each module.
 *
 * The start-up code of every module (crti.o) calls __gmon_start__(), if anybody has it, when the
 * module is relocated and before its constructors run. So the tables of each module are patched in
 * time, also those that dlopen() loads, and no function has to be exported in front of a library's.
 * A program built with -pg has a __gmon_start__() of its own, which its modules call instead.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/functions/functions.h"
#include "tracer/functions/lookup.h"

extern char **environ;

__attribute__((visibility("default"))) void *__gmon_start__(void);

enum wish { WISH_UNKNOWN = 0, WISH_NONE, WISH_SOME };

/* Start the session, if functions are wanted. Modules without libc may call before libc has set
 * `environ`: nothing is decided then. */
static enum wish wish_find(void)
{
	if (!environ)
		return WISH_UNKNOWN;
	if (!config_wants_functions(environ) && !config_wants_openmp(environ))
		return WISH_NONE;
	preload_early();
	if (session.state == SESSION_NEW)
		return WISH_UNKNOWN;
	if (session.state != SESSION_ON || !function_tables)
		return WISH_NONE;
	function_start_entry = (uint64_t)(uintptr_t)__gmon_start__;
	functions_patch_all();
	return WISH_SOME;
}

/* The result is that of a lookup, which a module's start-up code passes on. */
void *__gmon_start__(void)
{
	static enum wish wish;
	if (__builtin_expect(wish == WISH_NONE, 1))
		return NULL;
	void *caller = __builtin_return_address(0);
	if (function_lookup_continues((uint64_t)(uintptr_t)caller))
		return function_lookup_continue();
	int error = errno;
	if (wish == WISH_SOME)
		functions_patch_module_at(caller);
	else
		wish = wish_find();
	errno = error;
	return NULL;
}
