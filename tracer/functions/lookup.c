/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - functions that the program looks up by name.
 *
 * A stub is another address than the function's: dladdr() and dladdr1() are answered for the
 * function. A program that imports the function's address may compare the two, and gets the
 * function itself.
 */
#define _GNU_SOURCE
#include "tracer/functions/lookup.h"

#include <dlfcn.h>
#include <link.h>

#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/libc.h"
#include "tracer/base/rtld_next.h"
#include "tracer/core/state.h"
#include "tracer/functions/functions.h"
#include "unwind/modules.h"

#define LIBRARY_BYTES 256u

/* Return the stub of a function that the program has looked up; itself if there is none. The
 * program may keep and compare the address: all lookups return the same, except those of
 * must_jump(). */
static uint64_t stub_to_give(uint64_t real, const char *name, const char *library)
{
	struct thread *t = &thread_self;
	uint64_t stub = 0;
	if (function_stub_is_given(real, name, library))
		stub = (uint64_t)(uintptr_t)function_stub_known(real, name, library);
	else if (function_is_taken(name))
		return real;
	if (!t->vfork_pid && thread_try_enter(t)) {
		stub = (uint64_t)(uintptr_t)function_looked_up(real, name, library);
		thread_give(t);
	}
	if (!stub)
		function_taken_note(name);
	return stub ? stub : real;
}

/* ---- dlsym(), dlvsym(), dladdr() ---- */

static int (*dladdr1_real)(const void *address, Dl_info *info, void **ret_extra, int flags);

/* Return what the caller gets for a function: its stub, if its calls are recorded. */
static uint64_t exchanged(uint64_t real, const char *name, const char *version, void *caller)
{
	struct dl_object home, from;
	if (!function_name_is_wanted(name) || function_is_excluded(name) ||
		function_find_object((void *)(uintptr_t)real, &home) != 0 ||
		function_library_is_excluded(home.map->l_name) ||
		!function_is_recorded(name, home.map->l_name) ||
		!rtld_has_function(home.map, name, version))
		return real;
	uint32_t row = function_library_row(home.map->l_name);
	if (function_find_object(caller, &from) != 0 ||
		function_is_between(
			from.map, function_library_row(from.map->l_name), home.map, row))
		return stub_to_give(real, name, home.map->l_name);
	if (row)
		return real;
	/* Its own function: as it knows it, unless another module has already got the stub. */
	if (!function_stub_is_given(real, name, home.map->l_name))
		function_taken_note(name);
	return stub_to_give(real, name, home.map->l_name);
}

/* Stands for the version of dlsym(), which has none. */
static const char no_version[] = "";

static inline __attribute__((always_inline)) void *lookup_real(
	void *library, const char *name, const char *version)
{
	return version == no_version ? libc.dlsym(library, name)
				     : libc.dlvsym(library, name, version);
}

/*
 * With these two the real function looks at its caller. It must find the module that has called
 * ours, so that module's own start-up code (crti.o) calls it: this calls __gmon_start__(), which
 * continues here, by jumps, with the code as the caller.
 */
struct function_lookup {
	void *library;
	const char *name, *version;
	uint64_t start; /* address of the start-up code */
	bool done;
};
#define START_CODE_BYTES 32u

uint64_t function_start_entry;

static bool is_by_caller(const void *library)
{
	return library == RTLD_DEFAULT || library == RTLD_NEXT;
}

/* Return the address of the start-up code of the module of `address`, if it calls our
 * __gmon_start__() and nothing else; otherwise 0. */
static uint64_t start_of(void *address)
{
	struct dl_object object;
	uint64_t start = 0;
	if (function_find_object(address, &object) != 0)
		return 0;
	for (const Elf64_Dyn *d = object.map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_INIT)
			start = object.map->l_addr + d->d_un.d_ptr;
	const uint64_t *slot = start ? machine_start_slot((const void *)(uintptr_t)start) : NULL;
	return slot && *slot == function_start_entry ? start : 0;
}

bool function_lookup_continues(uint64_t return_address)
{
	const struct function_lookup *l = thread_self.lookup;
	return __builtin_expect(l != NULL, 0) && return_address - l->start < START_CODE_BYTES;
}

void *function_lookup_continue(void)
{
	struct function_lookup *l = thread_self.lookup;
	l->done = true;
	thread_self.lookup = NULL;
	return lookup_real(l->library, l->name, l->version);
}

/* A signal handler may interrupt this anywhere, and look up likewise, or fork: the child has
 * forgotten what was in progress, and repeats it. */
static uint64_t lookup_from(uint64_t start, void *library, const char *name, const char *version)
{
	struct function_lookup lookup = {library, name, version, start, false};
	struct function_lookup *interrupted = thread_self.lookup;
	uint64_t found;
	do {
		thread_self.lookup = &lookup;
		THREAD_BARRIER();
		found = ((uint64_t(*)(void))(uintptr_t)start)();
		THREAD_BARRIER();
	} while (!lookup.done);
	thread_self.lookup = interrupted;
	return found;
}

static __attribute__((noinline)) void *lookup_in(
	void *library, const char *name, const char *version, void *caller)
{
	uint64_t found = is_by_caller(library)
		? lookup_from(start_of(caller), library, name, version)
		: (uint64_t)(uintptr_t)lookup_real(library, name, version);
	if (found && name)
		found = exchanged(found, name, version == no_version ? NULL : version, caller);
	return (void *)(uintptr_t)found;
}

/* Return true if the real function must be entered by a jump, and so gives the program the function
 * itself: then all later lookups do, unless one before has given a stub. */
static __attribute__((noinline)) bool must_jump(const void *library, const char *name, void *caller)
{
	if (!is_by_caller(library) || start_of(caller))
		return false;
	if (name && function_name_is_wanted(name))
		function_taken_note(name);
	return true;
}

static void *lookup_dlsym(void *library, const char *name)
{
	void *caller = __builtin_return_address(0);
	if (must_jump(library, name, caller))
		return libc.dlsym(library, name);
	return lookup_in(library, name, no_version, caller);
}

static void *lookup_dlvsym(void *library, const char *name, const char *version)
{
	void *caller = __builtin_return_address(0);
	if (must_jump(library, name, caller))
		return libc.dlvsym(library, name, version);
	return lookup_in(library, name, version, caller);
}

static int lookup_dladdr(const void *address, Dl_info *info)
{
	return libc.dladdr(function_real(address), info);
}

static int lookup_dladdr1(const void *address, Dl_info *info, void **ret_extra, int flags)
{
	return dladdr1_real(function_real(address), info, ret_extra, flags);
}

bool function_is_lookup(uint64_t real)
{
	return real == (uint64_t)(uintptr_t)libc.dlsym ||
		real == (uint64_t)(uintptr_t)libc.dlvsym ||
		real == (uint64_t)(uintptr_t)libc.dladdr ||
		real == (uint64_t)(uintptr_t)dladdr1_real;
}

uint64_t function_lookup_entry(const char *name, uint64_t *ret_real)
{
	if (name[0] != 'd' || name[1] != 'l' || !function_counts.is_on)
		return 0;
	if (text_equal(name, "dlsym")) {
		*ret_real = (uint64_t)(uintptr_t)libc.dlsym;
		return (uint64_t)(uintptr_t)lookup_dlsym;
	}
	if (text_equal(name, "dlvsym")) {
		*ret_real = (uint64_t)(uintptr_t)libc.dlvsym;
		return (uint64_t)(uintptr_t)lookup_dlvsym;
	}
	if (text_equal(name, "dladdr")) {
		*ret_real = (uint64_t)(uintptr_t)libc.dladdr;
		return (uint64_t)(uintptr_t)lookup_dladdr;
	}
	if (text_equal(name, "dladdr1")) {
		*ret_real = (uint64_t)(uintptr_t)dladdr1_real;
		return (uint64_t)(uintptr_t)lookup_dladdr1;
	}
	return 0;
}

/* ---- the LOOKUP rows ---- */

static uint32_t hook_find(const char *name)
{
	return library_lookup(name);
}

/* scratch: 0 the name. A hook is 1 + the argument that has it. */
static void before(uint32_t hook, struct hooked_call *call)
{
	call->scratch[0] = *call_argument(call, hook - 1);
}

static void after(uint32_t hook, struct hooked_call *call)
{
	const char *name = (const char *)(uintptr_t)call->scratch[0];
	char library[LIBRARY_BYTES];
	(void)hook;
	if (!call->words[0] || !name || call->library->bytes >= sizeof(library))
		return;
	bytes_copy(library, call->library->text, call->library->bytes);
	library[call->library->bytes] = '\0';
	if (!function_is_excluded(name) && function_is_recorded(name, library))
		call->words[0] = stub_to_give(call->words[0], name, library);
}

void function_lookups_start(void)
{
	static const struct call_hooks hooks = {.row = CALL_ANY_ROW,
		.find = hook_find,
		.before = before,
		.after = after,
		.is_plain = true};
	if (!session.config.functions)
		return;
	call_hooks[CALL_HOOKS_LOOKUP] = &hooks;
	*(void **)(void *)&dladdr1_real = libc.dlsym(RTLD_DEFAULT, "dladdr1");
}
