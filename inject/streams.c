/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - the entry of the source `streams`: copies of what is written to descriptors 1 and 2.
 *
 * The descriptors themselves stay as they are. The wrappers call functions of this file in place of
 * the real functions, so nothing is tested where the source is off. stdio writes by a call within
 * the C library, which no wrapper sees: its table of operations on files has a pointer to the
 * function that writes, and that pointer is replaced, as those in the tables of modules are
 * (tracer/functions/patch.c). The C library checks where the table is, not what it holds. If the
 * table does not have the expected form, it is left alone and the receipt says so.
 */
#define _GNU_SOURCE
#include "inject/streams.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include "common/sys.h"
#include "inject/fn.h"
#include "tracer/base/libc.h"
#include "tracer/streams/streams.h"

static struct real next; /* the real functions that are replaced */

static ssize_t stream_write(int fd, const void *data, size_t bytes)
{
	ssize_t wrote = next.fn_write(fd, data, bytes);
	if (wrote > 0)
		streams_wrote(fd, data, (uint64_t)wrote);
	return wrote;
}

static ssize_t stream_writev(int fd, const struct iovec *vector, int count)
{
	ssize_t wrote = next.fn_writev(fd, vector, count);
	if (wrote > 0)
		streams_wrote_vector(fd, vector, count, (uint64_t)wrote);
	return wrote;
}

static int stream_dup2(int from, int to)
{
	int result = next.fn_dup2(from, to);
	if (result >= 0)
		streams_replaced(to);
	return result;
}

static int stream_dup3(int from, int to, int flags)
{
	int result = next.fn_dup3(from, to, flags);
	if (result >= 0)
		streams_replaced(to);
	return result;
}

static int stream_close(int fd)
{
	int result = next.fn_close(fd);
	streams_replaced(fd < 0 ? 0 : fd);
	return result;
}

static int stream_close_range(unsigned first, unsigned last, int flags)
{
	int result = next.fn_close_range(first, last, flags);
	streams_replaced(-1);
	return result;
}

static void stream_closefrom(int first)
{
	next.fn_closefrom(first);
	streams_replaced(-1);
}

static int stream_fclose(FILE *file)
{
	int result = next.fn_fclose(file);
	streams_replaced(-1);
	return result;
}

static FILE *stream_freopen(const char *path, const char *mode, FILE *file)
{
	FILE *result = next.fn_freopen(path, mode, file);
	streams_replaced(-1);
	return result;
}

static FILE *stream_freopen64(const char *path, const char *mode, FILE *file)
{
	FILE *result = next.fn_freopen64(path, mode, file);
	streams_replaced(-1);
	return result;
}

/* ---- stdio ---- */

typedef ssize_t (*file_write_fn)(FILE *file, const void *data, ssize_t bytes);

static file_write_fn file_write_next;

static ssize_t file_write(FILE *file, const void *data, ssize_t bytes)
{
	ssize_t wrote = file_write_next(file, data, bytes);
	if (wrote > 0) {
		int error = errno;
		streams_wrote(file->_fileno, data, (uint64_t)wrote);
		errno = error;
	}
	return wrote;
}

#define TABLE_ENTRIES 21u /* two unused ones, then those of libio since glibc 2.1 */

/* Find the entry of the table of operations that leads to the function; NULL = there is none. */
static void **entry_find(void)
{
	char *file = libc.dlsym(RTLD_DEFAULT, "_IO_2_1_stdout_");
	void *writes = libc.dlsym(RTLD_DEFAULT, "_IO_file_write");
	void **table = file ? *(void ***)(void *)(file + sizeof(FILE)) : NULL;
	for (unsigned i = 0; table && writes && i < TABLE_ENTRIES; i++)
		if (table[i] == writes)
			return &table[i];
	return NULL;
}

/* Pages that the loader has write-protected, and an address in one of them. */
struct protected_pages {
	uint64_t address, begin, end;
	bool found; /* the module of the address was found; begin 0 = it is not protected */
};

static int pages_find(struct dl_phdr_info *info, size_t bytes, void *user)
{
	struct protected_pages *pages = user;
	uint64_t page = getauxval(AT_PAGESZ);
	bool within = false;
	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		within |= p->p_type == PT_LOAD &&
			pages->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
	}
	for (unsigned i = 0; within && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = (info->dlpi_addr + p->p_vaddr) & ~(page - 1),
			 end = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(page - 1);
		if (p->p_type == PT_GNU_RELRO && pages->address - begin < end - begin) {
			pages->begin = begin;
			pages->end = end;
		}
	}
	pages->found = within;
	return within;
}

/* Store a pointer that the loader may have write-protected. Return false if that fails. */
static bool protected_store(void **place, void *value)
{
	struct protected_pages pages = {.address = (uint64_t)(uintptr_t)place};
	if (session.restricted || !session.iterate_phdr)
		return false;
	session.iterate_phdr(pages_find, &pages);
	uint64_t bytes = pages.end - pages.begin;
	if (!pages.found ||
		(bytes && SYS3(SYS_mprotect, pages.begin, bytes, PROT_READ | PROT_WRITE) != 0))
		return false;
	__atomic_store_n(place, value, __ATOMIC_RELEASE);
	if (bytes)
		SYS3(SYS_mprotect, pages.begin, bytes, PROT_READ);
	return true;
}

static void stdio_listen(void)
{
	void **entry = entry_find();
	if (entry)
		file_write_next = (file_write_fn)(uintptr_t)*entry;
	if (!entry || !protected_store(entry, (void *)(uintptr_t)file_write))
		streams_without_stdio();
}

void streams_listen(void)
{
#define LISTEN(name)                     \
	real_resolve(FN_##name);         \
	next.fn_##name = real.fn_##name; \
	__atomic_store_n(&real.fn_##name, stream_##name, __ATOMIC_RELEASE)
	LISTEN(write);
	LISTEN(writev);
	LISTEN(dup2);
	LISTEN(dup3);
	LISTEN(close);
	LISTEN(close_range);
	LISTEN(closefrom);
	LISTEN(fclose);
	LISTEN(freopen);
	LISTEN(freopen64);
#undef LISTEN
	stdio_listen();
}
