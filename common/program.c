/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - whether a program can load the tracer, by its file.
 *
 * The tracer calls it before an exec; `trace` calls it if a program was not recorded.
 */
#define _GNU_SOURCE
#include "common/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/elf.h"
#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"

#define SCRIPT_DEPTH_MAX 5 /* the kernel's limit of nested scripts, before the program itself */
#define HEAD_BYTES \
	2048 /* usually holds the ELF header, the program headers and the interpreter's name */

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
	if (elf->e_machine != MACHINE_ELF)
		return VERDICT_OTHER_ARCH;
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
	return elf_is_loader(fd) ? VERDICT_TRACED : VERDICT_STATIC;
}

/* Reduce a line "#! /bin/sh -e" to the interpreter's name, /bin/sh. Return false if it has none. */
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

enum child_verdict program_examine(const char *path)
{
	_Alignas(16) char head[HEAD_BYTES + 1];
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
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
