/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - programs about to be executed: their file, their environment, and memory around
 * exec.
 */
#define _GNU_SOURCE
#include "tracer/session/child.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/elf.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/unshared_fds.h"
#include "tracer/core/config.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"
#include "tracer/base/valgrind.h"
#include "unwind/stack.h"

#define SCRIPT_DEPTH_MAX 5 /* the kernel's limit */
#define HEAD_BYTES 2048    /* usually has ELF header, program headers and the interpreter's name */

extern char **environ;

static bool is_privileged(int fd)
{
	struct stat status;
	char capability[8];
	if (SYS2(SYS_fstat, fd, &status) < 0)
		return false;
	uint32_t uid = (uint32_t)sys_geteuid(), gid = (uint32_t)SYS0(SYS_getegid);
	if ((status.st_mode & S_ISUID && status.st_uid != uid) ||
		(status.st_mode & S_ISGID && status.st_gid != gid))
		return true;
	long caps = SYS4(SYS_fgetxattr, fd, "security.capability", capability, sizeof(capability));
	return uid != 0 && (caps > 0 || caps == -ERANGE);
}

/* Return the verdict on an ELF file. The loader named by PT_INTERP says which C library it uses. */
static enum child_verdict examine_elf(int fd, const char *head, size_t length)
{
	const Elf64_Ehdr *elf = (const void *)head;
	if (length < sizeof(*elf) || head[EI_CLASS] != ELFCLASS64)
		return VERDICT_OTHER_ARCH;
#if defined(__x86_64__)
	if (elf->e_machine != EM_X86_64)
		return VERDICT_OTHER_ARCH;
#endif
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *segment =
			(const void *)(head + elf->e_phoff + (uint64_t)i * sizeof(*segment));
		if (elf->e_phoff > length ||
			(uint64_t)(i + 1) * sizeof(*segment) > length - elf->e_phoff)
			return VERDICT_UNREADABLE;
		if (segment->p_type != PT_INTERP)
			continue;
		char loader[256];
		long got = sys_pread(fd, loader, sizeof(loader) - 1, segment->p_offset);
		loader[got > 0 ? got : 0] = 0;
		if (text_find(loader, "ld-musl"))
			return VERDICT_MUSL;
		if (is_privileged(fd))
			return VERDICT_SETUID;
		return elf_has_asan_options(fd) ? VERDICT_ASAN : VERDICT_TRACED;
	}
	return VERDICT_STATIC;
}

/* Return only the interpreter's name, /bin/sh of "#! /bin/sh -e". */
static bool script_interpreter(char *head)
{
	char *name = head + 2;
	while (*name == ' ' || *name == '\t')
		name++;
	char *end = name;
	while (*end && *end != ' ' && *end != '\t' && *end != '\n')
		end++;
	*end = 0;
	for (char *to = head;; to++, name++) {
		*to = *name;
		if (!*name)
			return to != head;
	}
}

static enum child_verdict examine_here(const char *path)
{
	_Alignas(16) char head[HEAD_BYTES + 1];
	for (int depth = 0; depth < SCRIPT_DEPTH_MAX; depth++) {
		int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
		if (fd == -EFAULT)
			return VERDICT_BAD_POINTER;
		if (fd < 0)
			return fd == -ENOENT || fd == -ENOTDIR ? VERDICT_MISSING
							       : VERDICT_UNREADABLE;
		long length = sys_pread(fd, head, HEAD_BYTES, 0);
		enum child_verdict verdict = VERDICT_UNREADABLE;
		head[length > 0 ? length : 0] = 0;
		bool script = length > 2 && head[0] == '#' && head[1] == '!';
		if (length > EI_NIDENT && text_begins(head, ELFMAG))
			verdict = examine_elf(fd, head, (size_t)length);
		sys_close(fd);
		if (!script)
			return verdict;
		if (!script_interpreter(head))
			return VERDICT_UNREADABLE;
		path = head;
	}
	return VERDICT_UNREADABLE;
}

struct examination {
	const char *path;
	enum child_verdict verdict;
};

static void examine_unshared(void *argument)
{
	struct examination *examination = argument;
	examination->verdict = examine_here(examination->path);
}

/* A vfork child has a table of descriptors of its own already. */
static enum child_verdict examine_file(const char *path)
{
	struct examination examination = {path, VERDICT_UNREADABLE};
	if (thread_self.vfork_pid || !unshared_fds_run(examine_unshared, &examination))
		return examine_here(path);
	return examination.verdict;
}

/* ---- pointers of the program: the kernel answers a bad one with EFAULT, so they are tested
 * before they are read ---- */

/* Return true if `bytes` at `at` can be read. *page is the last page found readable. Valgrind would
 * report the test as the program's own error: under Valgrind the result is true. */
static bool is_readable(uint64_t at, uint64_t bytes, uint64_t *page)
{
	if (runs_on_valgrind())
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

enum child_verdict child_examine(const char *path, char *const *envp)
{
	if (!environment_is_readable(envp))
		return VERDICT_BAD_POINTER;
	if (!session.config.follow)
		return VERDICT_BY_OPTION;
	enum child_verdict verdict = path ? examine_file(path) : VERDICT_UNREADABLE;
	if (verdict == VERDICT_ASAN &&
		elf_asan_decided(config_lookup((char **)(uintptr_t)envp, "ASAN_OPTIONS")))
		verdict = VERDICT_TRACED;
	if (verdict != VERDICT_TRACED)
		return verdict;
	const char *preload = preload_with_us(envp);
	if (!preload)
		return VERDICT_PRELOAD_LOST;
	return library_is_there(preload) ? VERDICT_TRACED : VERDICT_UNREACHABLE;
}

/* Some programs pass on LD_PRELOAD and little else (lighttpd to CGI). Nobody wants a separate
 * report of such a child in an arbitrary directory. */
static bool has_lost_tree(char *const *envp)
{
	char **given = (char **)(uintptr_t)envp;
	return session.tree[0] && preload_with_us(envp) && !config_lookup(given, "LIBTRACE_TREE") &&
		!config_lookup(given, "LIBTRACE_OUTPUT");
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

/* Of two variables with one name the first counts, so the program's own come first. */
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
