/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_files.c - variadic functions with one optional argument, which is passed on as a machine
 * word; functions that create two descriptors, or a stream with one: they are the object of the
 * call.
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
	if (osrt_wants_path(result >= 0))
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

/* Record the end of a call that opened a stream, whose descriptor is the object. */
static void end_stream(const struct call *call, unsigned fn, FILE *result, const char *path)
{
	const int descriptor = result ? result->_fileno : -1;
	osrt_end(call, fn, FN_BITS(result), osrt_object(FN_BITS(descriptor), FN_ERRNO(result)));
	if (osrt_wants_path(descriptor >= 0))
		osrt_put_path(call, descriptor, path, 0, 0);
}

#define STREAM_WRAPPER(name, params, ...)                         \
	WRAPPER(FILE *, name, params)                             \
	{                                                         \
		struct call t_call;                               \
		if (!call_begin(&t_call, FN_##name))              \
			return REAL(name)(__VA_ARGS__);           \
		FILE *t_result = REAL(name)(__VA_ARGS__);         \
		end_stream(&t_call, FN_##name, t_result, t_path); \
		return t_result;                                  \
	}

STREAM_WRAPPER(fopen, (const char *t_path, const char *t_mode), t_path, t_mode)
STREAM_WRAPPER(fopen64, (const char *t_path, const char *t_mode), t_path, t_mode)
STREAM_WRAPPER(
	freopen, (const char *t_path, const char *t_mode, FILE *t_file), t_path, t_mode, t_file)
STREAM_WRAPPER(
	freopen64, (const char *t_path, const char *t_mode, FILE *t_file), t_path, t_mode, t_file)

/* Return the function that a command of fcntl() is recorded as: a copy of a descriptor is one. */
static unsigned fn_of_command(unsigned fn, int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? FN_dup : fn;
}

/* name(FIRST, SECOND, one optional word), recorded as the function `FN_NUMBER`. FIRST is the
 * descriptor. */
#define WORD_WRAPPER(name, FN_NUMBER, TYPE)                                                    \
	static __attribute__((cold, noinline)) int long_##name(                                \
		int t_fd, TYPE t_second, void *t_word, unsigned fn)                            \
	{                                                                                      \
		struct call call;                                                              \
		if (!call_begin(&call, fn))                                                    \
			return REAL(name)(t_fd, t_second, t_word);                             \
		int result = REAL(name)(t_fd, t_second, t_word);                               \
		osrt_end_long(&call, fn, FN_BITS(result), FN_BITS(t_fd), FN_ERRNO(result));    \
		return result;                                                                 \
	}                                                                                      \
	WRAPPER(int, name, (int t_fd, TYPE t_second, ...))                                     \
	{                                                                                      \
		struct call now;                                                               \
		va_list list;                                                                  \
		va_start(list, t_second);                                                      \
		void *word = va_arg(list, void *);                                             \
		va_end(list);                                                                  \
		const unsigned fn = (FN_NUMBER);                                               \
		if (!osrt_fast_begin(&now, fn))                                                \
			return long_##name(t_fd, t_second, word, fn);                          \
		int result = REAL(name)(t_fd, t_second, word);                                 \
		return (int)osrt_fast_end(&now, fn, false, FN_FAILED(result), FN_BITS(result), \
			osrt_object(FN_BITS(t_fd), 0));                                        \
	}

WORD_WRAPPER(fcntl, fn_of_command(FN_fcntl, t_second), int)
WORD_WRAPPER(fcntl64, fn_of_command(FN_fcntl64, t_second), int)
WORD_WRAPPER(ioctl, FN_ioctl, unsigned long)

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

static void end_pair(const struct call *call, unsigned fn, int result, const int *descriptors)
{
	for (int i = 0; i < 2 && !result; i++)
		osrt_follow(descriptors[i]);
	osrt_end_long(
		call, fn, FN_BITS(result), pair_object(result, descriptors), FN_ERRNO(result));
}

#define PAIR_WRAPPER(name, params, ...)                        \
	WRAPPER(int, name, params)                             \
	{                                                      \
		struct call t_call;                            \
		if (!call_begin(&t_call, FN_##name))           \
			return REAL(name)(__VA_ARGS__);        \
		int t_result = REAL(name)(__VA_ARGS__);        \
		end_pair(&t_call, FN_##name, t_result, t_fds); \
		return t_result;                               \
	}

PAIR_WRAPPER(pipe, (libtrace_fd_pair t_fds), t_fds)
PAIR_WRAPPER(pipe2, (libtrace_fd_pair t_fds, int t_flags), t_fds, t_flags)
PAIR_WRAPPER(socketpair, (int t_domain, int t_type, int t_protocol, libtrace_fd_pair t_fds),
	t_domain, t_type, t_protocol, t_fds)
