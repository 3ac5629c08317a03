/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap_exec.c - functions that replace the program or start another one. An exec is recorded before
 * the call, since nothing is recorded after it if it succeeds; posix_spawn is recorded after it.
 *
 * They often run in vfork children, on their parent's memory: all data is on the stack, but for
 * environments that have to be copied.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <stdarg.h>

#include "common/text.h"
#include "tracer/session/child.h"
#include "tracer/session/child_record.h"
#include "tracer/session/process_tree.h"

extern char **environ;

/* The verdict on a program to be executed, and the environment that it gets. */
struct target {
	enum child_verdict verdict;
	const char *path;
	struct child_environment environment;
	char buffer[1024]; /* small: threads may have 16 KiB of stack */
};

/* Examine the program even while the gate is closed: it must be followed, and a preload that breaks
 * it must be removed. */
static void target_examine(
	struct target *target, const char *file, bool search, char *const *envp, unsigned flags)
{
	target->path =
		search ? child_find_in_path(file, target->buffer, sizeof(target->buffer)) : file;
	if (flags & CHILD_FILE_UNKNOWN && target->path && child_string_is_readable(target->path) &&
		*target->path == '/')
		flags &= ~(unsigned)CHILD_FILE_UNKNOWN;
	target->verdict = child_examine(target->path, envp, flags);
	if (target->verdict == VERDICT_BAD_POINTER)
		target->path = NULL;
	child_environment_plan(target->verdict, envp, &target->environment);
}

/* Evaluate CALL with `envp` in scope: the caller's environment, or a copy of it that lacks the
 * preload if that would break the program, or has LIBTRACE_TREE again if only that was lost. */
#define WITH_ENVIRONMENT(plan, given, CALL)                                                       \
	({                                                                                        \
		char *const *envp = (given);                                                      \
		void *memory =                                                                    \
			(plan)->places ? child_memory_take(child_environment_bytes(plan)) : NULL; \
		if (memory)                                                                       \
			envp = child_environment_make(plan, given, memory);                       \
		__typeof__(CALL) ended = CALL;                                                    \
		if (memory)                                                                       \
			child_memory_give();                                                      \
		ended;                                                                            \
	})

/* Return true if a system call filter is in force, or if the C library is not initialized, so that
 * there are no options. */
static bool is_left_alone(void)
{
	return session.restricted || (session.state == SESSION_NEW && !preload_early());
}

/* Return true if an exec call is to be left alone: as is_left_alone(), or if a filter is new.
 * Sandboxes install theirs just before, perhaps by a raw system call. A vfork child has a filter of
 * its own. */
static bool exec_is_left_alone(void)
{
	if (is_left_alone())
		return true;
	if (!process_tree_has_new_filter())
		return false;
	session.restricted = !thread_self.vfork_pid;
	return true;
}

/* The code around an exec call: write the last record of the process, and undo what is necessary if
 * exec fails. */
#define EXEC_BODY(name, file, search, given_envp, plain_call, env_call, object)          \
	if (exec_is_left_alone())                                                        \
		return plain_call;                                                       \
	struct call call;                                                                \
	struct target target;                                                            \
	target_examine(&target, file, search, given_envp, 0);                            \
	child_record(0, CHILD_EXEC, target.verdict, target.path);                        \
	bool begun = call_begin(&call, FN_##name);                                       \
	session_exec();                                                                  \
	int result = target.environment.places                                           \
		? WITH_ENVIRONMENT(&target.environment, given_envp, env_call)            \
		: plain_call;                                                            \
	session_exec_failed();                                                           \
	child_exec_failed();                                                             \
	if (begun)                                                                       \
		osrt_end(&call, FN_##name, FN_BITS(result), osrt_object(object, errno)); \
	return result;

WRAPPER(int, execve, (const char *t_path, char *const *t_argv, char *const *t_envp)){
	EXEC_BODY(execve, t_path, false, t_envp, REAL(execve)(t_path, t_argv, t_envp),
		REAL(execve)(t_path, t_argv, envp), 0)}

WRAPPER(int, execv, (const char *t_path, char *const *t_argv)){EXEC_BODY(execv, t_path, false,
	environ, REAL(execv)(t_path, t_argv), REAL(execve)(t_path, t_argv, envp), 0)}

WRAPPER(int, execvp, (const char *t_file, char *const *t_argv)){EXEC_BODY(execvp, t_file, true,
	environ, REAL(execvp)(t_file, t_argv), REAL(execvpe)(t_file, t_argv, envp), 0)}

WRAPPER(int, execvpe, (const char *t_file, char *const *t_argv, char *const *t_envp))
{
	EXEC_BODY(execvpe, t_file, true, t_envp, REAL(execvpe)(t_file, t_argv, t_envp),
		REAL(execvpe)(t_file, t_argv, envp), 0)
}

/* Get the path of a descriptor's file, through /proc. */
static void descriptor_path(int fd, char *ret_path, size_t bytes)
{
	size_t at = text_append(ret_path, bytes, 0, "/proc/self/fd/");
	text_append_number(ret_path, bytes, at, (unsigned)fd, 10);
}

WRAPPER(int, fexecve, (int t_fd, char *const *t_argv, char *const *t_envp))
{
	char path[40];
	descriptor_path(t_fd, path, sizeof(path));
	EXEC_BODY(fexecve, path, false, t_envp, REAL(fexecve)(t_fd, t_argv, t_envp),
		REAL(fexecve)(t_fd, t_argv, envp), FN_BITS(t_fd))
}

/* Return the file that execveat() refers to; NULL = not examined: there is no path, or it is
 * relative to a directory. */
static const char *path_at(int fd, const char *path, char *buffer, size_t bytes)
{
	if (!path || !child_string_is_readable(path))
		return NULL;
	if (*path)
		return *path == '/' || fd == AT_FDCWD ? path : NULL;
	descriptor_path(fd, buffer, bytes);
	return buffer;
}

WRAPPER(int, execveat,
	(int t_fd, const char *t_path, char *const *t_argv, char *const *t_envp, int t_flags))
{
	char path[40];
	const char *file = exec_is_left_alone() ? NULL : path_at(t_fd, t_path, path, sizeof(path));
	EXEC_BODY(execveat, file, false, t_envp,
		REAL(execveat)(t_fd, t_path, t_argv, t_envp, t_flags),
		REAL(execveat)(t_fd, t_path, t_argv, envp, t_flags), FN_BITS(t_fd))
}

/* ---- arguments as a list ---- */

static size_t count_arguments(const char *first, va_list list)
{
	va_list copy;
	size_t count = 1; /* counts the final NULL */
	va_copy(copy, list);
	for (const char *argument = first; argument; argument = va_arg(copy, const char *))
		count++;
	va_end(copy);
	return count;
}

/* Declare argv, filled from t_arg0 and the list after it; the list then points after its NULL. */
#define ARGUMENT_LIST                                 \
	va_list list;                                 \
	va_start(list, t_arg0);                       \
	size_t count = count_arguments(t_arg0, list); \
	char *argv[count];                            \
	argv[0] = (char *)(uintptr_t)t_arg0;          \
	for (size_t i = 1; i < count; i++)            \
		argv[i] = va_arg(list, char *);

WRAPPER(int, execl, (const char *t_path, const char *t_arg0, ...))
{
	ARGUMENT_LIST
	va_end(list);
	EXEC_BODY(execl, t_path, false, environ, REAL(execv)(t_path, argv),
		REAL(execve)(t_path, argv, envp), 0)
}

WRAPPER(int, execlp, (const char *t_file, const char *t_arg0, ...))
{
	ARGUMENT_LIST
	va_end(list);
	EXEC_BODY(execlp, t_file, true, environ, REAL(execvp)(t_file, argv),
		REAL(execvpe)(t_file, argv, envp), 0)
}

WRAPPER(int, execle, (const char *t_path, const char *t_arg0, ...))
{
	ARGUMENT_LIST
	char *const *given = va_arg(list, char *const *);
	va_end(list);
	EXEC_BODY(execle, t_path, false, given, REAL(execve)(t_path, argv, given),
		REAL(execve)(t_path, argv, envp), 0)
}

/* ---- posix_spawn: glibc's child makes no call that a wrapper sees ---- */

static unsigned spawn_flags(
	const posix_spawnattr_t *attributes, const posix_spawn_file_actions_t *actions)
{
	return (attributes && attributes->__flags & POSIX_SPAWN_RESETIDS ? CHILD_IDS_RESET : 0) |
		(child_changes_directory(actions) ? CHILD_FILE_UNKNOWN : 0);
}

/* Return the verdict on a program that was started. If the file is missing in this directory, it is
 * in the one that the file actions changed to: it is not known, and is taken for traced. */
static enum child_verdict spawned_verdict(enum child_verdict verdict)
{
	return verdict == VERDICT_MISSING ? VERDICT_TRACED : verdict;
}

#define SPAWN_WRAPPER(name, search)                                                                \
	WRAPPER(int, name,                                                                         \
		(pid_t * t_pid, const char *t_path, const posix_spawn_file_actions_t *t_actions,   \
			const posix_spawnattr_t *t_attributes, char *const *t_argv,                \
			char *const *t_envp))                                                      \
	{                                                                                          \
		struct call call = {NULL, 0};                                                      \
		struct target target;                                                              \
		pid_t pid = 0;                                                                     \
		if (is_left_alone())                                                               \
			return REAL(name)(t_pid, t_path, t_actions, t_attributes, t_argv, t_envp); \
		target_examine(                                                                    \
			&target, t_path, search, t_envp, spawn_flags(t_attributes, t_actions));    \
		bool begun = call_begin(&call, FN_##name);                                         \
		int result = WITH_ENVIRONMENT(&target.environment, t_envp,                         \
			REAL(name)(t_pid ? t_pid : &pid, t_path, t_actions, t_attributes, t_argv,  \
				envp));                                                            \
		if (result == 0 && t_pid)                                                          \
			pid = *t_pid;                                                              \
		if (begun)                                                                         \
			osrt_end(&call, FN_##name, FN_BITS(result), osrt_object(FN_BITS(pid), 0)); \
		if (result == 0)                                                                   \
			child_record((unsigned long)pid, CHILD_SPAWN,                              \
				spawned_verdict(target.verdict), target.path);                     \
		return result;                                                                     \
	}

SPAWN_WRAPPER(posix_spawn, false)
SPAWN_WRAPPER(posix_spawnp, true)
