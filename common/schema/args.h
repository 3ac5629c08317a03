/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - macros that generate C from the ARGS column of libc.def. Plain C99.
 *
 * ARGS is one to eight triples (KIND, type, name); a function without arguments has the one triple
 * (NONE, void, t_none).
 *
 *   PARAMS(ARGS)        parameter list: (int t_fd, size_t t_count), (void), (int t_option, ...)
 *   NAMES(ARGS)         arguments of the call: (t_fd, t_count), (). Does not compile for variadic
 *                       rows, whose wrappers are written by hand
 *   OBJECT(ARGS)        uint64_t: the FD, ADDR, PID or ID argument, or the descriptor of the STREAM
 *                       argument; 0 without one; negative numbers are extended to all bits
 *   OBJECT_KIND(ARGS)   enum arg_object, a constant: the kind of OBJECT, and so how to print it
 *   OBJECT_COUNT(ARGS)  a constant: how many arguments OBJECT is made of; 0 or 1 in a row
 *   PATH_OF(ARGS)       const char *: the PATH argument, NULL without one
 *   FLAGS_OF(ARGS)      uint64_t: the FLAGS argument, 0 without one
 *   MODE_OF(ARGS)       uint64_t: the MODE argument, 0 without one
 *
 * In the wrapper of a row, with `...` for ARGS:
 *
 *   ret wrap_##name PARAMS(__VA_ARGS__)
 *   {
 *           enter(id, OBJECT(__VA_ARGS__));
 *           ret t_result = real.name NAMES(__VA_ARGS__);
 *
 * A kind is a suffix of the macros below: a new kind needs a line in each block.
 */
#ifndef COMMON_SCHEMA_ARGS_H
#define COMMON_SCHEMA_ARGS_H

#include <stdint.h>

enum arg_object {
	ARG_OBJECT_NONE = 0,
	ARG_OBJECT_FD = 1,
	ARG_OBJECT_ADDR = 2,
	ARG_OBJECT_PID = 3,
	ARG_OBJECT_ID = 4
};

#define PARAMS(...) (ARGS_LIST(ARGS_PARAM, __VA_ARGS__))
#define NAMES(...) (ARGS_LIST(ARGS_NAME, __VA_ARGS__))
#define OBJECT(...) ((uint64_t)0 ARGS_EACH(ARGS_OBJECT, __VA_ARGS__))
#define OBJECT_KIND(...) (0 ARGS_EACH(ARGS_OBJECT_KIND, __VA_ARGS__))
#define OBJECT_COUNT(...) (0 ARGS_EACH(ARGS_OBJECT_COUNT, __VA_ARGS__))
#define PATH_OF(...) ((const char *)((uintptr_t)0 ARGS_EACH(ARGS_PATH, __VA_ARGS__)))
#define FLAGS_OF(...) ((uint64_t)0 ARGS_EACH(ARGS_FLAGS, __VA_ARGS__))
#define MODE_OF(...) ((uint64_t)0 ARGS_EACH(ARGS_MODE, __VA_ARGS__))

/* One triple: the kind chooses the macro. */
#define ARGS_PARAM(kind, type, name) ARGS_PARAM_##kind(type, name)
#define ARGS_NAME(kind, type, name) ARGS_NAME_##kind(name)
#define ARGS_OBJECT(kind, type, name) ARGS_OBJECT_##kind(name)
#define ARGS_OBJECT_KIND(kind, type, name) ARGS_OBJECT_KIND_##kind
#define ARGS_OBJECT_COUNT(kind, type, name) ARGS_OBJECT_COUNT_##kind
#define ARGS_PATH(kind, type, name) ARGS_PATH_##kind(name)
#define ARGS_FLAGS(kind, type, name) ARGS_FLAGS_##kind(name)
#define ARGS_MODE(kind, type, name) ARGS_MODE_##kind(name)

#define ARGS_BITS(name) | (uint64_t)(uintptr_t)(name)

/* parameter list */
#define ARGS_PARAM_NONE(type, name) void
#define ARGS_PARAM_FD(type, name) type name
#define ARGS_PARAM_STREAM(type, name) type name
#define ARGS_PARAM_STREAM_LINE(type, name) type name
#define ARGS_PARAM_STREAM_ITEMS(type, name) type name
#define ARGS_PARAM_ADDR(type, name) type name
#define ARGS_PARAM_PID(type, name) type name
#define ARGS_PARAM_ID(type, name) type name
#define ARGS_PARAM_SIZE(type, name) type name
#define ARGS_PARAM_PATH(type, name) type name
#define ARGS_PARAM_FLAGS(type, name) type name
#define ARGS_PARAM_MODE(type, name) type name
#define ARGS_PARAM_SKIP(type, name) type name
#define ARGS_PARAM_MORE(type, name) ...

/* arguments of the call; there is none for MORE, so that variadic rows do not compile */
#define ARGS_NAME_NONE(name)
#define ARGS_NAME_FD(name) name
#define ARGS_NAME_STREAM(name) name
#define ARGS_NAME_STREAM_LINE(name) name
#define ARGS_NAME_STREAM_ITEMS(name) name
#define ARGS_NAME_ADDR(name) name
#define ARGS_NAME_PID(name) name
#define ARGS_NAME_ID(name) name
#define ARGS_NAME_SIZE(name) name
#define ARGS_NAME_PATH(name) name
#define ARGS_NAME_FLAGS(name) name
#define ARGS_NAME_MODE(name) name
#define ARGS_NAME_SKIP(name) name

/* object */
#define ARGS_OBJECT_NONE(name)
#define ARGS_OBJECT_FD(name) ARGS_BITS(name)
#define ARGS_OBJECT_STREAM(name) ARGS_BITS((name) ? (name)->_fileno : -1)
#define ARGS_OBJECT_STREAM_LINE(name) ARGS_BITS((name) && t_size > 1 ? (name)->_fileno : -1)
#define ARGS_OBJECT_STREAM_ITEMS(name) \
	ARGS_BITS((name) && t_size * t_count > 0 ? (name)->_fileno : -1)
#define ARGS_OBJECT_ADDR(name) ARGS_BITS(name)
#define ARGS_OBJECT_PID(name) ARGS_BITS(name)
#define ARGS_OBJECT_ID(name) ARGS_BITS(name)
#define ARGS_OBJECT_SIZE(name)
#define ARGS_OBJECT_PATH(name)
#define ARGS_OBJECT_FLAGS(name)
#define ARGS_OBJECT_MODE(name)
#define ARGS_OBJECT_SKIP(name)
#define ARGS_OBJECT_MORE(name)

/* kind of object */
#define ARGS_OBJECT_KIND_NONE
#define ARGS_OBJECT_KIND_FD | ARG_OBJECT_FD
#define ARGS_OBJECT_KIND_STREAM | ARG_OBJECT_FD
#define ARGS_OBJECT_KIND_STREAM_LINE | ARG_OBJECT_FD
#define ARGS_OBJECT_KIND_STREAM_ITEMS | ARG_OBJECT_FD
#define ARGS_OBJECT_KIND_ADDR | ARG_OBJECT_ADDR
#define ARGS_OBJECT_KIND_PID | ARG_OBJECT_PID
#define ARGS_OBJECT_KIND_ID | ARG_OBJECT_ID
#define ARGS_OBJECT_KIND_SIZE
#define ARGS_OBJECT_KIND_PATH
#define ARGS_OBJECT_KIND_FLAGS
#define ARGS_OBJECT_KIND_MODE
#define ARGS_OBJECT_KIND_SKIP
#define ARGS_OBJECT_KIND_MORE

/* number of objects */
#define ARGS_OBJECT_COUNT_NONE
#define ARGS_OBJECT_COUNT_FD +1
#define ARGS_OBJECT_COUNT_STREAM +1
#define ARGS_OBJECT_COUNT_STREAM_LINE +1
#define ARGS_OBJECT_COUNT_STREAM_ITEMS +1
#define ARGS_OBJECT_COUNT_ADDR +1
#define ARGS_OBJECT_COUNT_PID +1
#define ARGS_OBJECT_COUNT_ID +1
#define ARGS_OBJECT_COUNT_SIZE
#define ARGS_OBJECT_COUNT_PATH
#define ARGS_OBJECT_COUNT_FLAGS
#define ARGS_OBJECT_COUNT_MODE
#define ARGS_OBJECT_COUNT_SKIP
#define ARGS_OBJECT_COUNT_MORE

/* path */
#define ARGS_PATH_NONE(name)
#define ARGS_PATH_FD(name)
#define ARGS_PATH_STREAM(name)
#define ARGS_PATH_STREAM_LINE(name)
#define ARGS_PATH_STREAM_ITEMS(name)
#define ARGS_PATH_ADDR(name)
#define ARGS_PATH_PID(name)
#define ARGS_PATH_ID(name)
#define ARGS_PATH_SIZE(name)
#define ARGS_PATH_PATH(name) | (uintptr_t)(name)
#define ARGS_PATH_FLAGS(name)
#define ARGS_PATH_MODE(name)
#define ARGS_PATH_SKIP(name)
#define ARGS_PATH_MORE(name)

/* flags */
#define ARGS_FLAGS_NONE(name)
#define ARGS_FLAGS_FD(name)
#define ARGS_FLAGS_STREAM(name)
#define ARGS_FLAGS_STREAM_LINE(name)
#define ARGS_FLAGS_STREAM_ITEMS(name)
#define ARGS_FLAGS_ADDR(name)
#define ARGS_FLAGS_PID(name)
#define ARGS_FLAGS_ID(name)
#define ARGS_FLAGS_SIZE(name)
#define ARGS_FLAGS_PATH(name)
#define ARGS_FLAGS_FLAGS(name) ARGS_BITS(name)
#define ARGS_FLAGS_MODE(name)
#define ARGS_FLAGS_SKIP(name)
#define ARGS_FLAGS_MORE(name)

/* mode */
#define ARGS_MODE_NONE(name)
#define ARGS_MODE_FD(name)
#define ARGS_MODE_STREAM(name)
#define ARGS_MODE_STREAM_LINE(name)
#define ARGS_MODE_STREAM_ITEMS(name)
#define ARGS_MODE_ADDR(name)
#define ARGS_MODE_PID(name)
#define ARGS_MODE_ID(name)
#define ARGS_MODE_SIZE(name)
#define ARGS_MODE_PATH(name)
#define ARGS_MODE_FLAGS(name)
#define ARGS_MODE_MODE(name) ARGS_BITS(name)
#define ARGS_MODE_SKIP(name)
#define ARGS_MODE_MORE(name)

/* m(first), m(second), ... */
#define ARGS_LIST(m, ...) ARGS_PASTE(ARGS_LIST_, ARGS_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define ARGS_LIST_1(m, a) m a
#define ARGS_LIST_2(m, a, ...) m a, ARGS_LIST_1(m, __VA_ARGS__)
#define ARGS_LIST_3(m, a, ...) m a, ARGS_LIST_2(m, __VA_ARGS__)
#define ARGS_LIST_4(m, a, ...) m a, ARGS_LIST_3(m, __VA_ARGS__)
#define ARGS_LIST_5(m, a, ...) m a, ARGS_LIST_4(m, __VA_ARGS__)
#define ARGS_LIST_6(m, a, ...) m a, ARGS_LIST_5(m, __VA_ARGS__)
#define ARGS_LIST_7(m, a, ...) m a, ARGS_LIST_6(m, __VA_ARGS__)
#define ARGS_LIST_8(m, a, ...) m a, ARGS_LIST_7(m, __VA_ARGS__)

/* m(first) m(second) ... */
#define ARGS_EACH(m, ...) ARGS_PASTE(ARGS_EACH_, ARGS_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define ARGS_EACH_1(m, a) m a
#define ARGS_EACH_2(m, a, ...) m a ARGS_EACH_1(m, __VA_ARGS__)
#define ARGS_EACH_3(m, a, ...) m a ARGS_EACH_2(m, __VA_ARGS__)
#define ARGS_EACH_4(m, a, ...) m a ARGS_EACH_3(m, __VA_ARGS__)
#define ARGS_EACH_5(m, a, ...) m a ARGS_EACH_4(m, __VA_ARGS__)
#define ARGS_EACH_6(m, a, ...) m a ARGS_EACH_5(m, __VA_ARGS__)
#define ARGS_EACH_7(m, a, ...) m a ARGS_EACH_6(m, __VA_ARGS__)
#define ARGS_EACH_8(m, a, ...) m a ARGS_EACH_7(m, __VA_ARGS__)

#define ARGS_COUNT(...) ARGS_NINTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ARGS_NINTH(a, b, c, d, e, f, g, h, n, ...) n
#define ARGS_PASTE(a, b) ARGS_PASTE_AGAIN(a, b)
#define ARGS_PASTE_AGAIN(a, b) a##b

#endif
