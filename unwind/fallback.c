/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fallback.c - libunwind: loading, forks, chains, and its pipe.
 */
#define _GNU_SOURCE
#include "unwind/fallback.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"

/* At least as large as unw_context_t and unw_cursor_t on any machine. */
#define CONTEXT_WORDS 640
#define CURSOR_WORDS 512
#define STEPS_MAX 1000u

enum state { UNTRIED = 0, MISSING, READY };

static uint32_t state;  /* enum state, stored last */
static uint32_t inside; /* threads in libunwind */
static struct {
	int (*getcontext)(void *context);
	int (*init_local)(void *cursor, void *context);
	int (*step)(void *cursor);
	int (*get_reg)(void *cursor, int number, uint64_t *ret_value);
	void (*flush_cache)(void *space, uint64_t begin, uint64_t end);
	void **address_space;
} unw;

bool fallback_ready(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == READY;
}

void fallback_forked(void)
{
	if (__atomic_exchange_n(&inside, 0, __ATOMIC_RELAXED))
		__atomic_store_n(&state, MISSING, __ATOMIC_RELEASE);
}

static void *open_file(const struct fallback_setup *setup, const char *name)
{
	char path[4096];
	size_t at = text_append(path, sizeof(path), 0, setup->folder);
	text_append(path, sizeof(path), at, name);
	return setup->open(path, RTLD_NOW | RTLD_LOCAL);
}

static bool resolve(const struct fallback_setup *setup, void *library)
{
	const struct {
		void *pointer;
		const char *name;
	} symbols[] = {{&unw.getcontext, MACHINE_UNW_GETCONTEXT},
		{&unw.init_local, "_UL" MACHINE_NAME "_init_local"},
		{&unw.step, "_UL" MACHINE_NAME "_step"},
		{&unw.get_reg, "_UL" MACHINE_NAME "_get_reg"},
		{&unw.flush_cache, "_U" MACHINE_NAME "_flush_cache"},
		{&unw.address_space, "_UL" MACHINE_NAME "_local_addr_space"}};
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (!symbols[i].name)
			continue;
		void *found = setup->symbol(library, symbols[i].name);
		if (!found)
			return false;
		*(void **)symbols[i].pointer = found;
	}
	return true;
}

/* Return true if the program has a libunwind of its own. Its symbols would be found before ours,
 * even by our libunwind. */
static bool is_there(const struct fallback_setup *setup)
{
	return setup->symbol(RTLD_DEFAULT, "_UL" MACHINE_NAME "_step") ||
		setup->symbol(RTLD_DEFAULT, "_U" MACHINE_NAME "_step");
}

int fallback_load(const struct fallback_setup *setup)
{
	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == UNTRIED) {
		void *library = NULL;
		if (!is_there(setup)) {
			open_file(setup, "/liblzma.so.5"); /* libunwind needs it by this name */
			library = open_file(setup, "/libunwind.so.8");
		}
		bool ready = library && resolve(setup, library);
		__atomic_store_n(&state, ready ? READY : MISSING, __ATOMIC_RELEASE);
	}
	return fallback_ready() ? 0 : -ENOENT;
}

static uint32_t walk(const struct fallback_frames *frames, uint32_t count, uint64_t *ret_addresses,
	bool *ret_more)
{
	uint64_t context[CONTEXT_WORDS], cursor[CURSOR_WORDS];
	uint32_t found = 0;
	bool begun = false;
	unw.flush_cache(*unw.address_space, 0, 0);
	machine_unw_context(unw.getcontext, context);
	if (unw.init_local(cursor, context) < 0)
		return 0;
	for (uint32_t steps = 0; steps < STEPS_MAX && unw.step(cursor) > 0; steps++) {
		uint64_t ip = 0;
		if (unw.get_reg(cursor, MACHINE_RETURN_COLUMN, &ip) < 0 || !ip)
			break;
		ip = machine_return_address(ip);
		begun = begun || ip == frames->first;
		if (!begun || (ip >= frames->own_begin && ip < frames->own_end))
			continue;
		if (found == count) {
			*ret_more = true;
			break;
		}
		ret_addresses[found++] = ip;
	}
	return found;
}

/* ---- libunwind's pipe ---- */

/*
 * libunwind probes addresses by writing a byte from them into a pipe, which it opens when first
 * needed. The program may close that pipe and open a file of its own with the same number: then the
 * byte would be written to that file, and the next read from it would wait forever.
 */
static struct {
	uint32_t looking; /* a thread is in its first walk */
	int fd[2];
	uint64_t inode; /* 0 = not known */
} pipe_of_libunwind;

/* Return the inode of a pipe; 0 = another file, UINT64_MAX = no file. */
static uint64_t pipe_inode(int fd)
{
	struct stat status;
	if (SYS2(SYS_fstat, fd, &status) != 0)
		return UINT64_MAX;
	return S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

/* Take the first chain, and find the pipe that libunwind opens for it: that pipe gets the
 * descriptors that a pipe of ours had just before. */
static uint32_t first_walk(const struct fallback_frames *frames, uint32_t count,
	uint64_t *ret_addresses, bool *ret_more)
{
	int fd[2];
	if (SYS2(SYS_pipe2, fd, O_CLOEXEC) != 0)
		return 0;
	SYS1(SYS_close, fd[0]);
	SYS1(SYS_close, fd[1]);
	uint32_t found = walk(frames, count, ret_addresses, ret_more);
	uint64_t inode = pipe_inode(fd[0]);
	if (inode && inode != UINT64_MAX && inode == pipe_inode(fd[1])) {
		pipe_of_libunwind.fd[0] = fd[0];
		pipe_of_libunwind.fd[1] = fd[1];
		__atomic_store_n(&pipe_of_libunwind.inode, inode, __ATOMIC_RELEASE);
	}
	return found;
}

static uint32_t walk_by_pipe(const struct fallback_frames *frames, uint32_t count,
	uint64_t *ret_addresses, bool *ret_more)
{
	uint64_t inode = __atomic_load_n(&pipe_of_libunwind.inode, __ATOMIC_ACQUIRE);
	if (inode) {
		uint64_t in = pipe_inode(pipe_of_libunwind.fd[0]);
		uint64_t out = pipe_inode(pipe_of_libunwind.fd[1]);
		if (in == inode && out == inode)
			return walk(frames, count, ret_addresses, ret_more);
		if (in != UINT64_MAX || out != UINT64_MAX) {
			__atomic_store_n(&state, MISSING, __ATOMIC_RELEASE);
			return 0;
		}
		__atomic_store_n(&pipe_of_libunwind.inode, 0,
			__ATOMIC_RELEASE); /* libunwind then opens another pipe */
	}
	if (__atomic_exchange_n(&pipe_of_libunwind.looking, 1, __ATOMIC_ACQUIRE))
		return 0;
	uint32_t found = first_walk(frames, count, ret_addresses, ret_more);
	__atomic_store_n(&pipe_of_libunwind.looking, 0, __ATOMIC_RELEASE);
	return found;
}

uint32_t fallback_chain(const struct fallback_frames *frames, uint32_t count,
	uint64_t *ret_addresses, bool *ret_more)
{
	*ret_more = false;
	if (!fallback_ready())
		return 0;
	int saved = errno; /* the application's errno: libunwind probes addresses by system calls */
	__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	uint32_t found = walk_by_pipe(frames, count, ret_addresses, ret_more);
	__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	errno = saved;
	return found;
}
