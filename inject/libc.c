/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc.c - the generated wrappers: one for each row of libc.def but the HAND rows.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

static inline __attribute__((always_inline)) void count_only(unsigned fn)
{
	if (__builtin_expect(
		    gate_is_open_for_osrt() && (thread_self.lane || thread_attach(&thread_self)),
		    1))
		osrt_count_now(fn);
	else
		relocate_check();
}

/* Count a call of a QUIET row, unless the options ask to time all locks. Return true if it was
 * counted: the wrapper then only calls the real function. */
static inline __attribute__((always_inline)) bool counted(bool quiet, unsigned fn)
{
	if (!quiet || session.config.all_locks)
		return false;
	count_only(fn);
	return true;
}

/* Record the path of a call. Where it opens nothing, 0 is no descriptor. */
#define NOTE_PATH(call, result, opens, ...)                                             \
	do {                                                                            \
		if (!__builtin_constant_p(PATH_OF(__VA_ARGS__)) &&                      \
			osrt_wants_path((opens) && !FN_FAILED(result)))                 \
			osrt_put_path(call,                                             \
				(opens) || (result) ? (int64_t)(intptr_t)(result) : -1, \
				PATH_OF(__VA_ARGS__), FLAGS_OF(__VA_ARGS__),            \
				MODE_OF(__VA_ARGS__));                                  \
	} while (0)

/*
 * Each row becomes a short path, which handles the usual case and ends in a call for all others,
 * and a slow path for the rare cases: no lane yet, an interrupted call, another clock, a path to
 * be recorded. Calls of a source that is off return before the slow path. A QUIET row is counted
 * before both paths.
 */
#define WHOLE(ret, name, ...)                           \
	WRAPPER(ret, name, PARAMS(__VA_ARGS__))         \
	{                                               \
		return short_##name NAMES(__VA_ARGS__); \
	}
#define SPLIT_OVER WHOLE
#define SPLIT_ALWAYS WHOLE
#define SPLIT_MADE WHOLE
#define SPLIT_OPENS WHOLE
#define SPLIT_CLOSES WHOLE
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
#define FN(ret, name, version, group, rule, alias, ...)                                     \
	static ret long_##name PARAMS(__VA_ARGS__);                                         \
	static __attribute__((noinline)) ret rare_##name PARAMS(__VA_ARGS__)                \
	{                                                                                   \
		return osrt_forwards() ? real.fn_##name NAMES(__VA_ARGS__)                  \
				       : long_##name NAMES(__VA_ARGS__);                    \
	}                                                                                   \
	static __attribute__((cold, noinline)) ret long_##name PARAMS(__VA_ARGS__)          \
	{                                                                                   \
		struct call own_call;                                                       \
		if (!call_begin(&own_call, FN_##name))                                      \
			return real.fn_##name NAMES(__VA_ARGS__);                           \
		uint64_t own_object = OBJECT(__VA_ARGS__); /* fclose() frees it */          \
		ret own_result = real.fn_##name NAMES(__VA_ARGS__);                         \
		osrt_end_long(&own_call, FN_##name, FN_BITS(own_result), own_object,        \
			FN_ERROR(#name, group, own_result));                                \
		NOTE_PATH(&own_call, own_result, FN_OPENS_##rule, __VA_ARGS__);             \
		return own_result;                                                          \
	}                                                                                   \
	static inline __attribute__((always_inline)) ret short_##name PARAMS(__VA_ARGS__)   \
	{                                                                                   \
		struct call own_now;                                                        \
		if ((!__builtin_constant_p(PATH_OF(__VA_ARGS__)) &&                         \
			    (FN_OPENS_##rule ||                                             \
				    __builtin_expect(session.config.file_access, 0))) ||    \
			!osrt_fast_begin(&own_now, FN_##name))                              \
			return rare_##name NAMES(__VA_ARGS__);                              \
		uint64_t own_object = FN_OBJECT(__VA_ARGS__);                               \
		__asm__("" : "+r"(own_object));                                             \
		ret own_result = real.fn_##name NAMES(__VA_ARGS__);                         \
		return (ret)osrt_fast_end(&own_now, FN_##name, FN_CLOSES_##rule,            \
			FN_BAD(#name, group, own_result), FN_BITS(own_result), own_object); \
	}                                                                                   \
	SPLIT_##rule(ret, name, __VA_ARGS__)
#define FNV(name, version, group, rule, alias, ...)                                             \
	WRAPPER(void, name, PARAMS(__VA_ARGS__))                                                \
	{                                                                                       \
		struct call own_call;                                                           \
		if (counted(FN_QUIET_##rule, FN_##name) || !call_begin(&own_call, FN_##name)) { \
			real.fn_##name NAMES(__VA_ARGS__);                                      \
			return;                                                                 \
		}                                                                               \
		uint64_t own_object = OBJECT(__VA_ARGS__); /* another thread may free it */     \
		real.fn_##name NAMES(__VA_ARGS__);                                              \
		osrt_end(&own_call, FN_##name, 0, osrt_object(own_object, 0));                  \
	}
#include "common/schema/libc.def"
