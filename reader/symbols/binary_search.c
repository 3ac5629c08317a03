/* SPDX-License-Identifier: Apache-2.0 */
/* binary_search.c - search for the file of a module by path and build-id, and for its debug
 * file. */
#ifdef HAVE_LIBDW

#define _GNU_SOURCE
#include "reader/symbols/binary_search.h"

#include <errno.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"

enum verdict { MISSING, NO_PROGRAM, OTHER_BUILD, FITS };

struct search {
	uint8_t bits[BUILD_ID_BITS_MAX];
	size_t bytes;       /* valid bytes in `bits`; 0 = the program had no build-id */
	const char *digits; /* build-id as recorded */
	enum verdict best;  /* best verdict of the files examined so far */
	char best_path[PATH_MAX];
	int error;
};

static int digit_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t build_id_bits(const char *build_id, uint8_t ret_bits[BUILD_ID_BITS_MAX])
{
	size_t bytes = 0;
	for (; *build_id; build_id += 2, bytes++) {
		int high = digit_value(build_id[0]), low = high < 0 ? -1 : digit_value(build_id[1]);
		if (low < 0 || bytes == BUILD_ID_BITS_MAX)
			return 0;
		ret_bits[bytes] = (uint8_t)(high << 4 | low);
	}
	return bytes;
}

/* Compare the build-id of a file. Recorded build-ids are truncated to BUILD_ID_BITS_MAX bytes. */
static bool build_fits(const struct search *s, Elf *elf)
{
	const void *bits = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &bits);
	if (bytes <= 0 || !s->bytes)
		return bytes <= 0 && !s->bytes;
	size_t least = (size_t)bytes < BUILD_ID_BITS_MAX ? (size_t)bytes : BUILD_ID_BITS_MAX;
	return s->bytes == least && !memcmp(bits, s->bits, least);
}

static enum verdict examine(const struct search *s, int fd)
{
	struct stat status;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return NO_PROGRAM;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	enum verdict verdict = !elf || elf_kind(elf) != ELF_K_ELF ? NO_PROGRAM
		: build_fits(s, elf)                              ? FITS
								  : OTHER_BUILD;
	if (elf)
		elf_end(elf);
	return verdict;
}

/* Open the file if its build-id matches. Returns the descriptor or -1. */
static int try_path(struct search *s, const char *path)
{
	int fd = regular_open(path), error = fd < 0 ? -fd : 0;
	enum verdict verdict = fd == -EINVAL ? NO_PROGRAM : fd < 0 ? MISSING : examine(s, fd);
	if (verdict > s->best || !*s->best_path) {
		s->best = verdict;
		s->error = error;
		snprintf(s->best_path, sizeof(s->best_path), "%s", path);
	}
	if (verdict == FITS || fd < 0)
		return fd;
	close(fd);
	return -1;
}

enum place { WHOLE_PATH, LAST_PART, BUILD_ID, DEBUG_BUILD_ID, DEBUG_WHOLE_PATH, DEBUG_LAST_PART };

static bool place_name(const struct search *s, const char *folder, size_t bytes, enum place place,
	const char *path, char *out)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	bool debug = place >= DEBUG_BUILD_ID;
	int n = -1;
	switch (place) {
	case WHOLE_PATH:
	case DEBUG_WHOLE_PATH:
		n = snprintf(out, PATH_MAX, "%.*s/%s%s", (int)bytes, folder, path,
			debug ? ".debug" : "");
		break;
	case LAST_PART:
	case DEBUG_LAST_PART:
		n = snprintf(out, PATH_MAX, "%.*s/%s%s", (int)bytes, folder, last,
			debug ? ".debug" : "");
		break;
	case BUILD_ID:
	case DEBUG_BUILD_ID:
		if (s->bytes > 1)
			n = snprintf(out, PATH_MAX, "%.*s/.build-id/%.2s/%s%s", (int)bytes, folder,
				s->digits, s->digits + 2, debug ? ".debug" : "");
		break;
	}
	return n > 0 && n < PATH_MAX && *last;
}

/* Try the locations below each folder. Returns a descriptor, with the name in `out`, or -1. */
static int try_folders(struct search *s, const char *folders, enum place first, enum place last,
	const char *path, char *out)
{
	for (const char *at = folders; at && *at;) {
		size_t bytes = strcspn(at, ":");
		for (enum place place = first; bytes && place <= last; place++) {
			int fd = place_name(s, at, bytes, place, path, out) ? try_path(s, out) : -1;
			if (fd >= 0)
				return fd;
		}
		at += bytes + (at[bytes] == ':');
	}
	return -1;
}

/* Return true if the path is the name that the loader gives the vdso. */
static bool is_vdso(const char *path)
{
	return !strncmp(path, "linux-vdso.so", 13);
}

/* Return the size of the vdso, which is mapped unchanged: the section headers are at the end of the
 * file. */
static size_t vdso_bytes(const Elf64_Ehdr *elf)
{
	return elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
}

/* Return a descriptor of a copy of this process's vdso, if that has the recorded build-id; else
 * -1. */
static int try_vdso(const struct search *s)
{
	const Elf64_Ehdr *elf = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int fd = elf && s->bytes ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return -1;
	size_t bytes = vdso_bytes(elf);
	if (write(fd, elf, bytes) == (ssize_t)bytes && examine(s, fd) == FITS)
		return fd;
	close(fd);
	return -1;
}

static void reason_set(const struct search *s, const char *path, char *out, size_t bytes)
{
	if (s->best == OTHER_BUILD)
		snprintf(out, bytes, "build-id of '%s' differs", s->best_path);
	else if (s->best == NO_PROGRAM)
		snprintf(out, bytes, "'%s' is not a program or library", s->best_path);
	else if (is_vdso(path))
		snprintf(out, bytes, "the vdso of this machine's kernel differs");
	else if (*path != '/')
		snprintf(out, bytes, "'%s' is not a file", path);
	else
		snprintf(out, bytes, "cannot open '%s': %s", path, strerror(s->error));
}

int binary_search(const char *path, const char *build_id, const char *symbol_path,
	char *ret_debug_path, char *ret_reason, size_t reason_bytes)
{
	struct search s = {.digits = build_id};
	char name[PATH_MAX];
	s.bytes = build_id_bits(build_id, s.bits);
	int debug =
		try_folders(&s, symbol_path, DEBUG_BUILD_ID, DEBUG_LAST_PART, path, ret_debug_path);
	s.best = MISSING;
	*s.best_path = 0;
	int fd = try_folders(&s, symbol_path, WHOLE_PATH, BUILD_ID, path, name);
	if (fd < 0 && *path == '/')
		fd = try_path(&s, path);
	else if (fd < 0 && is_vdso(path))
		fd = try_vdso(&s);
	if (fd < 0)
		reason_set(&s, path, ret_reason, reason_bytes);
	/* libdwfl finds this debug file itself if the binary exists. It is searched for here only
	 * if the binary is gone. */
	if (fd < 0 && debug < 0)
		debug = try_folders(
			&s, "/usr/lib/debug", DEBUG_BUILD_ID, DEBUG_BUILD_ID, path, ret_debug_path);
	if (debug < 0)
		*ret_debug_path = 0;
	else
		close(debug);
	return fd;
}

#endif
