/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - programs about to be executed: their file, their environment, and memory around
 * exec.
 */
#define _GNU_SOURCE
#include "tracer/session/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/elf.h"
#include "common/program.h"
#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"
#include "tracer/base/unshared_fds.h"
#include "tracer/core/config.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"
#include "unwind/stack.h"

extern char **environ;

struct examination {
	const char *path;
	enum child_verdict verdict;
};

static void examine_unshared(void *argument)
{
	struct examination *examination = argument;
	examination->verdict = program_examine(examination->path);
}

/* Examine a file with a table of descriptors of our own; a vfork child already has one. */
static enum child_verdict examine_file(const char *path)
{
	struct examination examination = {path, VERDICT_UNREADABLE};
	if (thread_self.vfork_pid || !unshared_fds_run(examine_unshared, &examination))
		return program_examine(path);
	return examination.verdict;
}

/* ---- pointers of the program: the kernel answers a bad one with EFAULT, so they are tested
 * before they are read ---- */

/* Return true if `bytes` at `at` can be read. *page is the last page found readable. Valgrind would
 * report the test as the program's own error: under Valgrind the result is true. */
static bool is_readable(uint64_t at, uint64_t bytes, uint64_t *page)
{
	if (machine_on_valgrind())
		return true;
	for (uint64_t now = at & ~UINT64_C(4095); now < at + bytes; now += 4096) {
		if (now != *page && !stack_readable(now))
			return false;
		*page = now;
	}
	return true;
}

static bool string_is_readable(const char *text, uint64_t *page)
{
	for (;; text++) {
		uint64_t at = (uint64_t)(uintptr_t)text;
		if ((at & ~UINT64_C(4095)) != *page && !is_readable(at, 1, page))
			return false;
		if (!*text)
			return true;
	}
}

bool child_string_is_readable(const char *text)
{
	uint64_t page = 1; /* none */
	return string_is_readable(text, &page);
}

static bool environment_is_readable(char *const *envp)
{
	uint64_t page = 1, text_page = 1;
	for (; envp; envp++) {
		if (!is_readable((uint64_t)(uintptr_t)envp, sizeof(*envp), &page))
			return false;
		if (!*envp)
			return true;
		if (!string_is_readable(*envp, &text_page))
			return false;
	}
	return true;
}

/* Return true if the loader finds the library that LD_PRELOAD names; otherwise it complains on
 * stderr. */
static bool library_is_there(const char *preload)
{
	char path[512];
	const char *end = text_find(preload, "libtrace.so") + sizeof("libtrace.so") - 1;
	const char *begin = end;
	while (begin > preload && begin[-1] != ':' && begin[-1] != ' ')
		begin--;
	size_t length = (size_t)(end - begin);
	if (length >= sizeof(path))
		return true;
	bytes_copy(path, begin, length);
	path[length] = 0;
	return !text_find(path, "/") || SYS3(SYS_faccessat, AT_FDCWD, path, 0) == 0;
}

/* Return LD_PRELOAD of this environment, or NULL if it does not name the library. */
static const char *preload_with_us(char *const *envp)
{
	const char *preload = config_lookup((char **)(uintptr_t)envp, "LD_PRELOAD");
	return preload && text_find(preload, "libtrace.so") ? preload : NULL;
}

/* Return true if the environment has the preload but names no tree: some programs pass on
 * LD_PRELOAD and little else (lighttpd to CGI). Such a child would write a report of its own to an
 * arbitrary directory, or to our file. */
static bool has_lost_tree(char *const *envp)
{
	char **given = (char **)(uintptr_t)envp;
	const char *output = config_lookup(given, "LIBTRACE_OUTPUT");
	return session.tree[0] && preload_with_us(envp) && !config_lookup(given, "LIBTRACE_TREE") &&
		(!output || (session.config.output && text_equal(output, session.config.output)));
}

/* Return true if the loader of the program ignores the preload, whatever its file is. */
static bool loader_is_secure(unsigned flags)
{
	return !(flags & CHILD_IDS_RESET) &&
		(sys_getuid() != sys_geteuid() || SYS0(SYS_getgid) != SYS0(SYS_getegid));
}

/* Return true if the program can open the folder of the tree, as tree_open_dir() does. */
static bool tree_is_reachable(unsigned flags)
{
	struct stat status;
	bool ids_reset = flags & CHILD_IDS_RESET && sys_getuid() != sys_geteuid();
	long error = SYS4(SYS_newfstatat, AT_FDCWD, session.tree, &status, AT_SYMLINK_NOFOLLOW);
	if (error < 0)
		return ids_reset && error == -EACCES; /* it may have other rights than we do */
	return (status.st_mode & S_IFMT) == S_IFDIR &&
		status.st_uid == (uid_t)(ids_reset ? sys_getuid() : sys_geteuid());
}

static bool has_own_report(const char *output)
{
	return output && text_find(output, "%p");
}

/* Return the verdict on whether the program, which is preloaded, enters the tree. */
static enum child_verdict examine_tree(char *const *envp, unsigned flags)
{
	char **given = (char **)(uintptr_t)envp;
	const char *tree = config_lookup(given, "LIBTRACE_TREE"),
		   *output = config_lookup(given, "LIBTRACE_OUTPUT");
	if (has_lost_tree(envp) && !(flags & CHILD_ENVIRONMENT_KEPT)) {
		tree = session.tree; /* the environment is completed */
		output = session.config.output;
	}
	if (has_own_report(output))
		return has_own_report(session.config.output) ? VERDICT_OWN_REPORT
							     : VERDICT_OTHER_TREE;
	if (!tree || !text_equal(tree, session.tree))
		return VERDICT_OTHER_TREE;
	return tree_is_reachable(flags) ? VERDICT_TRACED : VERDICT_NO_ENTRY;
}

enum child_verdict child_examine(const char *path, char *const *envp, unsigned flags)
{
	if (!environment_is_readable(envp))
		return VERDICT_BAD_POINTER;
	if (!session.config.follow)
		return VERDICT_BY_OPTION;
	enum child_verdict verdict = flags & CHILD_FILE_UNKNOWN ? VERDICT_TRACED
		: path                                          ? examine_file(path)
								: VERDICT_UNREADABLE;
	if (verdict == VERDICT_ASAN &&
		elf_asan_decided(config_lookup((char **)(uintptr_t)envp, "ASAN_OPTIONS")))
		verdict = VERDICT_TRACED;
	if (verdict != VERDICT_TRACED)
		return verdict;
	const char *preload = preload_with_us(envp);
	if (!preload)
		return VERDICT_PRELOAD_LOST;
	if (!library_is_there(preload))
		return VERDICT_UNREACHABLE;
	if (loader_is_secure(flags))
		return VERDICT_SETUID;
	return session.tree[0] ? examine_tree(envp, flags) : VERDICT_TRACED;
}

/* An action of glibc's posix_spawn(), as of 2.29: spawn_int.h. */
struct spawn_action {
	int tag;
	uint64_t data[3];
};
#define SPAWN_CHDIR 3
#define SPAWN_FCHDIR 4

bool child_changes_directory(const posix_spawn_file_actions_t *actions)
{
	uint64_t page = 1; /* none */
	const struct spawn_action *list = actions ? (const void *)actions->__actions : NULL;
	for (int i = 0; list && i < actions->__used && i < actions->__allocated; i++) {
		if (!is_readable((uint64_t)(uintptr_t)&list[i], sizeof(*list), &page))
			return false;
		if (list[i].tag == SPAWN_CHDIR || list[i].tag == SPAWN_FCHDIR)
			return true;
	}
	return false;
}

static size_t environment_count(char *const *envp)
{
	size_t count = 1;
	while (envp && envp[count - 1])
		count++;
	return count;
}

/* Copies of this process's options at its start: the environment belongs to the program, and
 * another thread may change it. Variables without room are omitted. */
static struct {
	char *variables[64];
	uint32_t count;
	size_t bytes;
	char text[4096];
} options;

void child_options_keep(char *const *envp)
{
	for (size_t i = 0; envp && envp[i]; i++) {
		const size_t bytes = text_length(envp[i]) + 1;
		if (!text_begins(envp[i], "LIBTRACE_") || text_begins(envp[i], "LIBTRACE_TREE=") ||
			options.count == sizeof(options.variables) / sizeof(*options.variables) ||
			bytes > sizeof(options.text) - options.bytes)
			continue;
		char *copy = options.text + options.bytes;
		text_append(copy, bytes, 0, envp[i]);
		options.bytes += bytes;
		options.variables[options.count++] = copy;
	}
}

void child_environment_plan(
	enum child_verdict verdict, char *const *envp, struct child_environment *ret_plan)
{
	*ret_plan = (struct child_environment){0};
	if (verdict == VERDICT_BAD_POINTER)
		return;
	if (verdict == VERDICT_MUSL || verdict == VERDICT_OTHER_ARCH ||
		verdict == VERDICT_BY_OPTION || verdict == VERDICT_UNREACHABLE ||
		verdict == VERDICT_ASAN) {
		const char *preload = config_lookup((char **)(uintptr_t)envp, "LD_PRELOAD");
		ret_plan->without_us = true;
		ret_plan->places = environment_count(envp);
		ret_plan->bytes = sizeof("LD_PRELOAD=") + (preload ? text_length(preload) : 0);
	} else if (has_lost_tree(envp)) {
		ret_plan->with_tree = true;
		ret_plan->places = environment_count(envp) + options.count + 1;
		ret_plan->bytes = sizeof("LIBTRACE_TREE=") + text_length(session.tree);
	}
}

/* Copy the elements of a preload list (separated by blanks or colons) that are not this library. */
static void preload_without_us(const char *list, char *buffer, size_t bytes)
{
	size_t at = text_append(buffer, bytes, 0, "LD_PRELOAD="), first = at;
	while (*list) {
		size_t length = 0;
		while (list[length] && list[length] != ':' && list[length] != ' ')
			length++;
		const char *found = text_find(list, "libtrace.so");
		bool ours = found && found < list + length;
		if (length && !ours && at + length + 2 < bytes) {
			if (at > first)
				buffer[at++] = ':';
			bytes_copy(buffer + at, list, length);
			at += length;
			buffer[at] = 0;
		}
		list += length + (list[length] != 0);
	}
}

static size_t copy_without_us(
	const struct child_environment *plan, char *const *envp, char **ret_envp, char *buffer)
{
	size_t to = 0;
	for (size_t i = 0; envp && envp[i] && to + 1 < plan->places; i++) {
		ret_envp[to] = envp[i];
		if (text_begins(envp[i], "LD_PRELOAD=")) {
			preload_without_us(
				envp[i] + sizeof("LD_PRELOAD=") - 1, buffer, plan->bytes);
			if (text_equal(buffer, "LD_PRELOAD="))
				continue;
			ret_envp[to] = buffer;
		}
		to++;
	}
	return to;
}

/* If a name occurs twice, the first variable counts, so the program's own come first. */
static size_t copy_with_tree(
	const struct child_environment *plan, char *const *envp, char **ret_envp, char *buffer)
{
	size_t to = 0;
	text_append(buffer, plan->bytes, text_append(buffer, plan->bytes, 0, "LIBTRACE_TREE="),
		session.tree);
	for (size_t i = 0; envp && envp[i] && to + 2 < plan->places; i++)
		ret_envp[to++] = envp[i];
	for (uint32_t i = 0; i < options.count && to + 2 < plan->places; i++)
		ret_envp[to++] = options.variables[i];
	ret_envp[to++] = buffer;
	return to;
}

/* Memory of this thread and of the vfork child that runs on it; the latest first. */
static __thread struct memory {
	struct memory *next;
	size_t bytes;
} * memory_held __attribute__((tls_model("initial-exec")));

void *child_memory_take(size_t bytes)
{
	bytes += sizeof(struct memory);
	struct memory *memory = sys_mmap_private(bytes);
	if (!memory)
		return NULL;
	*memory = (struct memory){memory_held, bytes};
	memory_held = memory;
	return memory + 1;
}

void child_memory_give(void)
{
	struct memory *memory = memory_held;
	if (!memory)
		return;
	memory_held = memory->next;
	sys_munmap(memory, memory->bytes);
}

void child_memory_give_all(void)
{
	while (memory_held)
		child_memory_give();
}

char *const *child_environment_make(
	const struct child_environment *plan, char *const *envp, void *memory)
{
	char **ret_envp = memory, *buffer = (char *)(ret_envp + plan->places);
	size_t count = plan->without_us ? copy_without_us(plan, envp, ret_envp, buffer)
					: copy_with_tree(plan, envp, ret_envp, buffer);
	ret_envp[count] = NULL;
	return ret_envp;
}

const char *child_find_in_path(const char *file, char *buffer, size_t bytes)
{
	if (!file || text_find(file, "/"))
		return file;
	const char *path = config_lookup(environ, "PATH");
	for (const char *s = path ? path : "/bin:/usr/bin"; *s;) {
		size_t at = 0;
		for (; *s && *s != ':'; s++)
			if (at + 1 < bytes)
				buffer[at++] = *s;
		at = text_append(buffer, bytes, at, at ? "/" : "./");
		text_append(buffer, bytes, at, file);
		if (SYS3(SYS_faccessat, AT_FDCWD, buffer, 1 /* X_OK */) == 0)
			return buffer;
		s += *s == ':';
	}
	return file;
}

#define ENVIRONMENT_FITS 256u /* variables; a mapping would cost each fork */

/* The new array lives as long as the process; glibc's setenv copies it when it must. */
void child_environment_add(const char *tree)
{
	static char variable[sizeof("LIBTRACE_TREE=") + TREE_PATH_BYTES];
	size_t count = 0;
	text_append(variable, sizeof(variable),
		text_append(variable, sizeof(variable), 0, "LIBTRACE_TREE="), tree);
	for (size_t i = 0; environ && environ[i]; i++) {
		if (text_begins(environ[i], "LIBTRACE_TREE=")) {
			environ[i] = variable;
			return;
		}
		count++;
	}
	static char *fits[ENVIRONMENT_FITS + 2];
	char **copy =
		count <= ENVIRONMENT_FITS ? fits : sys_mmap_private((count + 2) * sizeof(char *));
	if (!copy)
		return;
	for (size_t i = 0; i < count; i++)
		copy[i] = environ[i];
	copy[count] = variable;
	environ = copy;
}
