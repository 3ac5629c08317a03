/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc.c - the generated part: real functions, boot functions and wrappers of the rows of libc.def.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "tracer/libc.h"
#include "tracer/next.h"
#include "tracer/valgrind.h"

/* ---- boot functions: called instead of a real function that has not been looked up yet ---- */

#define FN(ret, name, version, group, rule, alias, ...)   \
	static ret boot_##name PARAMS(__VA_ARGS__)        \
	{                                                 \
		real_resolve(FN_##name);                  \
		return real.fn_##name NAMES(__VA_ARGS__); \
	}
#define FNV(name, version, group, rule, alias, ...) \
	static void boot_##name PARAMS(__VA_ARGS__) \
	{                                           \
		real_resolve(FN_##name);            \
		real.fn_##name NAMES(__VA_ARGS__);  \
	}
#include "common/schema/libc.def"

struct real real = {
#define FN(ret, name, ...) .fn_##name = boot_##name,
#define FNV(name, ...) .fn_##name = boot_##name,
#include "common/schema/libc.def"
};

/* ---- looking them up ---- */

struct real_name {
	const char *name, *version;
	size_t offset;
};

static const struct real_name real_names[] = {
#define FN(ret, name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#define FNV(name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#define HAND(ret, name, version, ...) {#name, version, offsetof(struct real, fn_##name)},
#include "common/schema/libc.def"
};

/* For functions that this libc does not have: nobody can have been linked to them, but dlsym finds
 * ours. */
static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

static struct next_scope scope;

/*
 * The version is libc's: another library behind us that has the function (a sanitizer's runtime)
 * has it without one, and dlvsym would pass it by. dlsym finds it, and of libc's the newest.
 */
static void *real_find_by_loader(const struct real_name *row)
{
	void *next = libc.dlsym(RTLD_NEXT, row->name);
	void *exact = row->version && libc.dlvsym ? libc.dlvsym(RTLD_NEXT, row->name, row->version)
						  : NULL;
	Dl_info next_info, exact_info;
	if (!exact || next == exact || !libc.dladdr(next, &next_info) ||
		!libc.dladdr(exact, &exact_info))
		return next;
	return next_info.dli_fbase == exact_info.dli_fbase ? exact : next;
}

static void **real_place(const struct real_name *row)
{
	return (void **)(void *)((char *)&real + row->offset);
}

void real_resolve(unsigned fn)
{
	relocate_check();
	const struct real_name *row = &real_names[fn - 1];
	/* A constructor's call, before ours has run. dlsym of an old glibc allocates. */
	if (!scope.count)
		next_open(&scope, _DYNAMIC);
	void *found = next_find(&scope, row->name, row->version);
	if (!found && libc.dlsym)
		found = real_find_by_loader(row);
	if (!found)
		found = (void *)(uintptr_t)missing_function;
	__atomic_store_n(real_place(row), found, __ATOMIC_RELEASE);
}

void real_open(void)
{
	/* All at once under Valgrind: what one thread finds later and another reads is a race to
	 * it. */
	bool opened = next_open(&scope, _DYNAMIC) && !runs_on_valgrind();
	for (unsigned fn = 1; fn < FN_COUNT; fn++)
		if (!opened ||
			*real_place(&real_names[fn - 1]) == (void *)(uintptr_t)missing_function)
			real_resolve(fn);
}

/* ---- wrappers ---- */

static inline __attribute__((always_inline)) void count_only(unsigned fn)
{
	if (__builtin_expect(
		    gate_is_open_for_osrt() && (thread_self.lane || thread_attach(&thread_self)),
		    1))
		osrt_count(thread_self.lane, fn, 0);
	else
		relocate_check();
}

/* A function that is only counted, in the usual case that nobody asked for locks to be timed. True
 * = counted, go on to the real one. */
static inline __attribute__((always_inline)) bool counted(bool quiet, unsigned fn)
{
	if (!quiet || session.config.all_locks)
		return false;
	count_only(fn);
	return true;
}

#define NOTE_PATH(call, result, ...)                                                           \
	do {                                                                                   \
		if (!__builtin_constant_p(PATH_OF(__VA_ARGS__)) &&                             \
			__builtin_expect(session.config.file_access, 0))                       \
			osrt_put_path(call, (int64_t)(intptr_t)(result), PATH_OF(__VA_ARGS__), \
				FLAGS_OF(__VA_ARGS__), MODE_OF(__VA_ARGS__));                  \
	} while (0)

/*
 * Each row becomes a short way, which holds the usual case and calls the rest last, and a long way
 * for everything rare: no lane yet, an interrupted call, another clock, the file access option.
 * Calls that nobody wants turn off before that one. A QUIET row is counted before either.
 */
#define WHOLE(ret, name, ...)                           \
	WRAPPER(ret, name, PARAMS(__VA_ARGS__))         \
	{                                               \
		return short_##name NAMES(__VA_ARGS__); \
	}
#define SPLIT_OVER WHOLE
#define SPLIT_ALWAYS WHOLE
#define SPLIT_CONTENDED WHOLE
#define SPLIT_QUIET(ret, name, ...)                                                  \
	static __attribute__((noinline)) ret timed_##name PARAMS(__VA_ARGS__)        \
	{                                                                            \
		return short_##name NAMES(__VA_ARGS__);                              \
	}                                                                            \
	static __attribute__((noinline)) ret counted_##name PARAMS(__VA_ARGS__)      \
	{                                                                            \
		if (!counted(true, FN_##name))                                       \
			return timed_##name NAMES(__VA_ARGS__);                      \
		return real.fn_##name NAMES(__VA_ARGS__);                            \
	}                                                                            \
	WRAPPER(ret, name, PARAMS(__VA_ARGS__))                                      \
	{                                                                            \
		return session.config.all_locks ? timed_##name NAMES(__VA_ARGS__)    \
						: counted_##name NAMES(__VA_ARGS__); \
	}
#define FN(ret, name, version, group, rule, alias, ...)                                    \
	static ret long_##name PARAMS(__VA_ARGS__);                                        \
	static __attribute__((noinline)) ret rare_##name PARAMS(__VA_ARGS__)               \
	{                                                                                  \
		return osrt_forwards() ? real.fn_##name NAMES(__VA_ARGS__)                 \
				       : long_##name NAMES(__VA_ARGS__);                   \
	}                                                                                  \
	static __attribute__((cold, noinline)) ret long_##name PARAMS(__VA_ARGS__)         \
	{                                                                                  \
		struct call own_call;                                                      \
		if (!call_begin(&own_call, FN_##name))                                     \
			return real.fn_##name NAMES(__VA_ARGS__);                          \
		ret own_result = real.fn_##name NAMES(__VA_ARGS__);                        \
		osrt_end(&own_call, FN_##name, FN_BITS(own_result),                        \
			osrt_object(OBJECT(__VA_ARGS__), FN_ERROR_##group(own_result)));   \
		NOTE_PATH(&own_call, own_result, __VA_ARGS__);                             \
		return own_result;                                                         \
	}                                                                                  \
	static inline __attribute__((always_inline)) ret short_##name PARAMS(__VA_ARGS__)  \
	{                                                                                  \
		uint64_t own_tick;                                                         \
		if ((!__builtin_constant_p(PATH_OF(__VA_ARGS__)) &&                        \
			    __builtin_expect(session.config.file_access, 0)) ||            \
			!osrt_fast_begin(&own_tick, FN_##name))                            \
			return rare_##name NAMES(__VA_ARGS__);                             \
		uint64_t own_object = FN_OBJECT(__VA_ARGS__);                              \
		__asm__("" : "+r"(own_object));                                            \
		ret own_result = real.fn_##name NAMES(__VA_ARGS__);                        \
		return (ret)osrt_fast_end(own_tick, FN_##name, FN_BAD_##group(own_result), \
			FN_BITS(own_result), own_object);                                  \
	}                                                                                  \
	SPLIT_##rule(ret, name, __VA_ARGS__)
#define FNV(name, version, group, rule, alias, ...)                                             \
	WRAPPER(void, name, PARAMS(__VA_ARGS__))                                                \
	{                                                                                       \
		struct call own_call;                                                           \
		if (counted(FN_QUIET_##rule, FN_##name) || !call_begin(&own_call, FN_##name)) { \
			real.fn_##name NAMES(__VA_ARGS__);                                      \
			return;                                                                 \
		}                                                                               \
		real.fn_##name NAMES(__VA_ARGS__);                                              \
		osrt_end(&own_call, FN_##name, 0, osrt_object(OBJECT(__VA_ARGS__), 0));         \
	}
#include "common/schema/libc.def"
