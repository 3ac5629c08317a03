/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_files.c - variadic functions with one optional argument, which is passed on as a machine
 * word; and functions that create two descriptors, which are the object of the call.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <stdarg.h>

static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE_ARGUMENT(flags, last)               \
	mode_t t_mode = 0;                       \
	if (has_mode(flags)) {                   \
		va_list t_list;                  \
		va_start(t_list, last);          \
		t_mode = va_arg(t_list, mode_t); \
		va_end(t_list);                  \
	}

static void end_open(const struct call *call, unsigned fn, int directory, int result,
	const char *path, int flags, mode_t mode)
{
	osrt_end(call, fn, FN_BITS(result), osrt_object(FN_BITS(directory), FN_ERRNO(result)));
	if (__builtin_expect(session.config.file_access, 0))
		osrt_put_path(call, result, path, (unsigned)flags, mode);
}

#define OPEN_WRAPPER(name)                                                                 \
	WRAPPER(int, name, (const char *t_path, int t_flags, ...))                         \
	{                                                                                  \
		struct call t_call;                                                        \
		MODE_ARGUMENT(t_flags, t_flags)                                            \
		if (!call_begin(&t_call, FN_##name))                                       \
			return REAL(name)(t_path, t_flags, t_mode);                        \
		int t_result = REAL(name)(t_path, t_flags, t_mode);                        \
		end_open(&t_call, FN_##name, AT_FDCWD, t_result, t_path, t_flags, t_mode); \
		return t_result;                                                           \
	}

#define OPENAT_WRAPPER(name)                                                                  \
	WRAPPER(int, name, (int t_directory, const char *t_path, int t_flags, ...))           \
	{                                                                                     \
		struct call t_call;                                                           \
		MODE_ARGUMENT(t_flags, t_flags)                                               \
		if (!call_begin(&t_call, FN_##name))                                          \
			return REAL(name)(t_directory, t_path, t_flags, t_mode);              \
		int t_result = REAL(name)(t_directory, t_path, t_flags, t_mode);              \
		end_open(&t_call, FN_##name, t_directory, t_result, t_path, t_flags, t_mode); \
		return t_result;                                                              \
	}

OPEN_WRAPPER(open)
OPEN_WRAPPER(open64)
OPENAT_WRAPPER(openat)
OPENAT_WRAPPER(openat64)

/* name(FIRST, SECOND, one optional word) */
#define WORD_WRAPPER(ret, name, OBJECT_VALUE, TYPE1, TYPE2)             \
	WRAPPER(ret, name, (TYPE1 t_first, TYPE2 t_second, ...))        \
	{                                                               \
		struct call t_call;                                     \
		va_list t_list;                                         \
		va_start(t_list, t_second);                             \
		void *t_word = va_arg(t_list, void *);                  \
		va_end(t_list);                                         \
		if (!call_begin(&t_call, FN_##name))                    \
			return REAL(name)(t_first, t_second, t_word);   \
		ret t_result = REAL(name)(t_first, t_second, t_word);   \
		osrt_end(&t_call, FN_##name, FN_BITS(t_result),         \
			osrt_object(OBJECT_VALUE, FN_ERRNO(t_result))); \
		return t_result;                                        \
	}

WORD_WRAPPER(int, fcntl, FN_BITS(t_first), int, int)
WORD_WRAPPER(int, fcntl64, FN_BITS(t_first), int, int)
WORD_WRAPPER(int, ioctl, FN_BITS(t_first), int, unsigned long)

WRAPPER(int, semctl, (int t_set, int t_number, int t_command, ...))
{
	struct call call;
	va_list list;
	va_start(list, t_command);
	void *word = va_arg(list, void *);
	va_end(list);
	if (!call_begin(&call, FN_semctl))
		return REAL(semctl)(t_set, t_number, t_command, word);
	int result = REAL(semctl)(t_set, t_number, t_command, word);
	osrt_end(&call, FN_semctl, FN_BITS(result), osrt_object(FN_BITS(t_set), FN_ERRNO(result)));
	return result;
}

WRAPPER(mqd_t, mq_open, (const char *t_name, int t_flags, ...))
{
	struct call call;
	va_list list;
	va_start(list, t_flags);
	mode_t mode = t_flags & O_CREAT ? va_arg(list, mode_t) : 0;
	struct mq_attr *attributes = t_flags & O_CREAT ? va_arg(list, struct mq_attr *) : NULL;
	va_end(list);
	if (!call_begin(&call, FN_mq_open))
		return REAL(mq_open)(t_name, t_flags, mode, attributes);
	mqd_t result = REAL(mq_open)(t_name, t_flags, mode, attributes);
	osrt_end(&call, FN_mq_open, FN_BITS(result), osrt_object(0, FN_ERRNO(result)));
	return result;
}

WRAPPER(void *, mremap, (void *t_address, size_t t_old_count, size_t t_count, int t_flags, ...))
{
	struct call call;
	va_list list;
	va_start(list, t_flags);
	void *target = va_arg(list, void *); /* a hint without MREMAP_FIXED, too */
	va_end(list);
	if (!call_begin(&call, FN_mremap))
		return REAL(mremap)(t_address, t_old_count, t_count, t_flags, target);
	void *result = REAL(mremap)(t_address, t_old_count, t_count, t_flags, target);
	osrt_end(&call, FN_mremap, FN_BITS(result),
		osrt_object(FN_BITS(t_address), FN_ERRNO(result)));
	return result;
}

/* Return the object of a call that created two descriptors, 24 bits each; 0 if it failed. */
static uint64_t pair_object(int result, const int *descriptors)
{
	return result
		? 0
		: (FN_BITS(descriptors[0]) & 0xffffff) | (FN_BITS(descriptors[1]) & 0xffffff) << 24;
}

#define PAIR_WRAPPER(name, params, ...)                                                 \
	WRAPPER(int, name, params)                                                      \
	{                                                                               \
		struct call t_call;                                                     \
		if (!call_begin(&t_call, FN_##name))                                    \
			return REAL(name)(__VA_ARGS__);                                 \
		int t_result = REAL(name)(__VA_ARGS__);                                 \
		osrt_end(&t_call, FN_##name, FN_BITS(t_result),                         \
			osrt_object(pair_object(t_result, t_fds), FN_ERRNO(t_result))); \
		return t_result;                                                        \
	}

PAIR_WRAPPER(pipe, (libtrace_fd_pair t_fds), t_fds)
PAIR_WRAPPER(pipe2, (libtrace_fd_pair t_fds, int t_flags), t_fds, t_flags)
PAIR_WRAPPER(socketpair, (int t_domain, int t_type, int t_protocol, libtrace_fd_pair t_fds),
	t_domain, t_type, t_protocol, t_fds)
