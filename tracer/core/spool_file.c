/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_file.c - the spool's file: segments, growth, and reserved pages.
 */
#define _GNU_SOURCE
#include "tracer/core/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/base/unshared_fds.h"
#include "tracer/core/gate.h"
#include "tracer/core/state.h"
#include "tracer/core/thread.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SEGMENTS_MAX 1024u /* 1 GiB of spool: LIBTRACE_MEMORY is capped there */

static bool by_page;                 /* whether the kernel can reserve pages one by one */
static uint64_t reserved_end;        /* offset up to which the file is reserved */
static uint64_t file_bytes;          /* size of the whole file, growth included */
static uint64_t first_bytes;         /* size of the first segment */
static uint64_t mapped_bytes;        /* mapped size of the file: all segments so far */
static char *first;                  /* SPOOL_FIRST_BYTES or more */
static char *segments[SEGMENTS_MAX]; /* SPOOL_SEGMENT_BYTES each */
#define COPY_BYTES 4096u             /* the smallest part of a segment that is copied at once */
#define LOCK_YIELDS 100u             /* enough for growing, about ten microseconds */
#define LOCK_SLEEP_NS 50000u     /* a holder that takes longer is preempted, on a busy machine */
#define LOCK_WAIT_NS 1000000000u /* at most this long */
#define LOCK_ROUNDS_MAX (LOCK_YIELDS + LOCK_WAIT_NS / LOCK_SLEEP_NS)
static uint32_t lock; /* tid of the holder, 0 = free; held for a few instructions, or while the file
			 grows. The holder is `busy`, so no handler of its thread takes it */
static uint32_t given_up; /* the holder that a thread has waited for in vain: later waits for it are
			     short */

/* Try to take the lock. A holder that is this thread itself, or has ended, left the tracer in the
 * middle (siglongjmp from a handler, cancellation): the lock is taken over, and its work done
 * again. */
static bool lock_try(uint32_t tid, bool look, uint32_t *ret_holder)
{
	*ret_holder = 0;
	if (__atomic_compare_exchange_n(
		    &lock, ret_holder, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
		*ret_holder == tid)
		return true;
	return look && thread_is_dead(*ret_holder) &&
		__atomic_compare_exchange_n(
			&lock, ret_holder, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Take the lock. Return false if that fails: the holder never gives it back, or is another stack
 * of this thread, which continues later. */
static bool lock_take(uint32_t tid)
{
	uint64_t end_ns = 0;
	uint32_t holder = __atomic_load_n(&lock, __ATOMIC_RELAXED);
	if (holder == tid && thread_is_inside_twice(&thread_self))
		return false;
	for (uint32_t i = 0; !lock_try(tid, i >= LOCK_YIELDS, &holder); i++) {
		if (i < LOCK_YIELDS) {
			if (!session.restricted)
				SYS0(SYS_sched_yield);
			continue;
		}
		uint64_t now_ns = clock_monotonic_ns();
		end_ns = end_ns ? end_ns : now_ns + LOCK_WAIT_NS;
		if (holder == __atomic_load_n(&given_up, __ATOMIC_RELAXED) || now_ns >= end_ns ||
			i >= LOCK_ROUNDS_MAX) {
			__atomic_store_n(&given_up, holder, __ATOMIC_RELAXED);
			return false;
		}
		session_pause(LOCK_SLEEP_NS);
	}
	__atomic_store_n(&given_up, 0, __ATOMIC_RELAXED);
	return true;
}

static void lock_give(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* Reserve the pages of [place, place + bytes), so that no access to them raises SIGBUS later. This
 * maps them, too: mapped one by one, they would add 0.5 us to every 128th event. */
static int populate(char *place, uint64_t bytes)
{
	uintptr_t page = getauxval(AT_PAGESZ), begin = (uintptr_t)place & ~(page - 1);
	uintptr_t end = ((uintptr_t)place + bytes + page - 1) & ~(page - 1);
	return sys_madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

/* Extend the file to offset + bytes. Reserve the new part if pages cannot be reserved one by
 * one. */
static int file_extend(int fd, uint64_t offset, uint64_t bytes)
{
	return by_page ? sys_ftruncate(fd, offset + bytes) : sys_fallocate(fd, 0, offset, bytes);
}

/* Map [offset, offset + bytes) of the file. Only `now` bytes are reserved at once if pages can be
 * reserved one by one. */
static char *segment_map(int fd, uint64_t offset, uint64_t bytes, uint64_t now, int *ret_error)
{
	char *map =
		sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset, ret_error);
	if (!map)
		return NULL;
	/* After mlockall(MCL_FUTURE) the mapping would count against the program's limit of locked
	 * memory. */
	SYS2(SYS_munlock, map, bytes);
	int error = by_page && now ? populate(map, now) : 0;
	if (error < 0) {
		sys_munmap(map, bytes);
		*ret_error = error;
		return NULL;
	}
	reserved_end = offset + (by_page ? now : bytes);
	return map;
}

static void temporary_name(const char *path, char *ret_name, size_t bytes)
{
	text_append(ret_name, bytes, text_append(ret_name, bytes, 0, path), ".new");
}

/*
 * Create the first segment's part of the file. If that costs nothing, extend the file to its
 * largest size: it then grows without being opened again, which a process that has changed its user
 * or its root could not do. Never extend past RLIMIT_FSIZE: that would raise SIGXFSZ in the
 * program.
 */
static int file_begin(int fd, uint64_t limit_bytes)
{
	uint64_t file_limit = sys_file_limit(),
		 most = file_limit < limit_bytes ? file_limit : limit_bytes;
	/* Linux 5.14 and later; an unknown advice is refused before the length is checked. */
	by_page = populate(NULL, 0) == 0;
	/* Where pages are reserved one by one, a large first segment costs nothing, while a
	 * second one is one more mapping for each fork to copy. */
	first_bytes = by_page && file_limit >= SPOOL_SEGMENT_BYTES ? SPOOL_SEGMENT_BYTES
								   : SPOOL_FIRST_BYTES;
	if (first_bytes > file_limit)
		return -EFBIG;
	file_bytes = most;
	if (by_page && most > first_bytes && sys_ftruncate(fd, most) == 0)
		return 0;
	file_bytes = first_bytes;
	return file_extend(fd, 0, first_bytes);
}

struct creation {
	const char *name;
	uint64_t limit_bytes;
	int error;
};

static void create_file(void *argument)
{
	struct creation *creation = argument;
	int fd = sys_openat(AT_FDCWD, creation->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	creation->error = fd < 0 ? fd : file_begin(fd, creation->limit_bytes);
	if (fd < 0)
		return;
	if (creation->error >= 0)
		first = segment_map(fd, 0, first_bytes, SPOOL_HEADER_BYTES, &creation->error);
	sys_close(fd);
	if (!first)
		sys_unlink(creation->name);
}

struct spool_header *spool_file_create(const char *path, uint64_t limit_bytes, int *ret_error)
{
	char name[600];
	temporary_name(path, name, sizeof(name));
	struct creation creation = {name, limit_bytes, 0};
	first = NULL;
	if (!session.shares_fds || !unshared_fds_run(create_file, &creation))
		create_file(&creation);
	*ret_error = creation.error;
	struct spool_header *header = (struct spool_header *)(void *)first;
	if (header) {
		mapped_bytes = first_bytes;
		header->size_bytes = first_bytes;
		header->next_offset = SPOOL_HEADER_BYTES;
	}
	return header;
}

int spool_file_publish(const char *path)
{
	char name[600];
	temporary_name(path, name, sizeof(name));
	return sys_rename(name, path);
}

void *spool_file_at(uint64_t offset)
{
	if (offset < first_bytes)
		return first + offset;
	offset -= first_bytes;
	return segments[offset / SPOOL_SEGMENT_BYTES] + offset % SPOOL_SEGMENT_BYTES;
}

/* Return the end of the segment that has `offset`. */
static uint64_t segment_end(uint64_t offset)
{
	if (offset < first_bytes)
		return first_bytes;
	return offset + SPOOL_SEGMENT_BYTES - (offset - first_bytes) % SPOOL_SEGMENT_BYTES;
}

/* Return the address of `bytes` bytes at an offset, which need not be valid; NULL if they are not
 * mapped as one piece. */
static char *place_at(uint64_t offset, uint64_t bytes)
{
	if (offset < SPOOL_HEADER_BYTES || offset % 4096 || offset > mapped_bytes ||
		mapped_bytes - offset < bytes ||
		segment_end(offset) != segment_end(offset + bytes - 1))
		return NULL;
	return spool_file_at(offset);
}

char *spool_file_chunk(uint64_t offset)
{
	return place_at(offset, CHUNK_BYTES);
}

/* Map the next segment of a file that is long enough, from the mapping of the segment before it. */
static char *segment_follow(char *before, uint64_t bytes)
{
	/* An old size of 0 maps the same pages again, with as many more as the new size says. */
	uint64_t whole = bytes + SPOOL_SEGMENT_BYTES;
	long result = SYS4(SYS_mremap, before, 0, whole, MREMAP_MAYMOVE);
	if (result < 0 && result > -4096)
		return NULL;
	uint64_t map = (uint64_t)result;
	SYS2(SYS_munlock, map, whole);
	SYS2(SYS_munmap, map, bytes);
	return (char *)(uintptr_t)(map + bytes);
}

struct opening {
	uint64_t offset;
	char *map;
};

static void segment_open_unshared(void *argument)
{
	struct opening *opening = argument;
	uint64_t offset = opening->offset;
	int error, fd = tree_open_file(AT_FDCWD, session.spool_path, O_RDWR);
	if (fd < 0)
		return;
	if (offset + SPOOL_SEGMENT_BYTES <= sys_file_limit() &&
		file_extend(fd, offset, SPOOL_SEGMENT_BYTES) == 0)
		opening->map = segment_map(fd, offset, SPOOL_SEGMENT_BYTES, 0, &error);
	sys_close(fd);
}

/* Open in a private table of descriptors: other threads of the program open and close files,
 * too. */
static char *segment_open(uint64_t offset)
{
	struct opening opening = {offset, NULL};
	if (!unshared_fds_run(segment_open_unshared, &opening))
		segment_open_unshared(&opening);
	return opening.map;
}

static bool grow(struct spool_header *header)
{
	uint64_t offset = mapped_bytes, before = offset;
	uint64_t index = (offset - first_bytes) / SPOOL_SEGMENT_BYTES;
	if (session.restricted || index >= SEGMENTS_MAX ||
		offset + SPOOL_SEGMENT_BYTES > header->limit_bytes)
		return false;
	if (offset + SPOOL_SEGMENT_BYTES <= file_bytes)
		segments[index] = index ? segment_follow(segments[index - 1], SPOOL_SEGMENT_BYTES)
					: segment_follow(first, first_bytes);
	if (!segments[index]) /* the file is too short, or no mapping is made from another one */
		segments[index] = segment_open(offset);
	if (!segments[index])
		return false;
	mapped_bytes = offset + SPOOL_SEGMENT_BYTES;
	/* Keep the size if a child, which a handler forked by a raw system call, has changed it in
	 * the shared header meanwhile: see spool_file_take(). */
	__atomic_compare_exchange_n(&header->size_bytes, &before, mapped_bytes, false,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

bool spool_file_reserve(void *place, uint64_t bytes)
{
	return !session.restricted && populate(place, bytes) == 0;
}

/*
 * The lock is private to this process. A handler that interrupts this function may fork by a raw
 * system call, and the child continues here, too, with the same shared header. So the header is
 * changed only if it is still as it was read.
 */
uint64_t spool_file_take(uint64_t bytes, uint64_t now, void **ret_place)
{
	struct spool_header *header = session.spool;
	if (!lock_take(thread_self.tid ? thread_self.tid : (uint32_t)sys_gettid()))
		return 0;
	uint64_t before = __atomic_load_n(&header->next_offset, __ATOMIC_ACQUIRE), offset = before;
	if (offset + bytes > segment_end(offset))
		offset = segment_end(offset);
	bool taken = !header->limit_bytes || offset + bytes <= header->limit_bytes;
	while (taken &&
		offset + bytes > mapped_bytes) /* repeated if such a child has grown the file */
		taken = grow(header);
	if (taken && offset + now > reserved_end)
		taken = spool_file_reserve(spool_file_at(offset), now);
	taken = taken && !gate_is_wiped() &&
		__atomic_compare_exchange_n(&header->next_offset, &before, offset + bytes, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (taken)
		*ret_place = spool_file_at(offset);
	lock_give();
	return taken ? offset : 0;
}

/* Reserve the whole first chunk of lanes for which only a part is reserved. */
static void lanes_reserve(struct spool_header *header)
{
	for (uint32_t i = 0; i < header->lane_count; i++) {
		uint64_t offset = __atomic_load_n(&header->lane_offset[i], __ATOMIC_ACQUIRE);
		struct lane *lane = offset ? spool_file_at(offset) : NULL;
		uint64_t chunk = lane && lane->partial ? lane_chunk_offset(lane, 0) : 0;
		if (chunk && spool_file_reserve(spool_file_at(chunk), CHUNK_BYTES))
			lane->partial = 0;
	}
}

void spool_file_stock_up(void)
{
	struct spool_header *header = session.spool;
	if (session.restricted ||
		!lock_take(thread_self.tid ? thread_self.tid : (uint32_t)sys_gettid()))
		return;
	lanes_reserve(header);
	if (mapped_bytes - header->next_offset < SPOOL_SEGMENT_BYTES / 2)
		grow(header);
	uint64_t begin = header->next_offset;
	for (uint64_t end; begin < mapped_bytes; begin = end) {
		end = segment_end(begin);
		if (begin >= reserved_end && !spool_file_reserve(spool_file_at(begin), end - begin))
			break;
	}
	if (begin > reserved_end)
		reserved_end = begin;
	lock_give();
}

void spool_file_unlock(void)
{
	if (first)
		SYS2(SYS_munlock, first, first_bytes);
	for (uint32_t i = 0; i < SEGMENTS_MAX && segments[i]; i++)
		SYS2(SYS_munlock, segments[i], SPOOL_SEGMENT_BYTES);
}

/* Replace a mapping by private pages with the same `used` bytes. If RLIMIT_AS leaves no address
 * space for a copy, do it by halves. */
static bool segment_detach(char *place, uint64_t bytes, uint64_t used)
{
	char *copy = sys_mmap_beyond_data(bytes);
	if (!copy) {
		uint64_t half = bytes / 2 / COPY_BYTES * COPY_BYTES;
		return half && segment_detach(place, half, used) &&
			segment_detach(place + half, bytes - half, used > half ? used - half : 0);
	}
	struct iovec from = {place, used < bytes ? used : bytes}, to = {copy, bytes};
	SYS6(SYS_process_vm_readv, sys_getpid(), &to, 1, &from, 1, 0);
	long result = SYS5(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (result != (long)(uintptr_t)place)
		sys_munmap(copy, bytes);
	return result == (long)(uintptr_t)place;
}

/* Detach the first segment last: as long as anything is shared with the parent, the header is
 * shared, too. */
bool spool_file_detach(void)
{
	struct spool_header *header = (struct spool_header *)(void *)first;
	uint64_t used = header->next_offset;
	for (uint32_t i = 0; i < SEGMENTS_MAX && segments[i]; i++) {
		uint64_t at = first_bytes + (uint64_t)i * SPOOL_SEGMENT_BYTES;
		if (!segment_detach(segments[i], SPOOL_SEGMENT_BYTES, used > at ? used - at : 0))
			return false;
	}
	if (!segment_detach(first, first_bytes, used))
		return false;
	header->limit_bytes = header->size_bytes; /* do not grow the parent's file */
	return true;
}

void spool_file_forget(void)
{
	if (first)
		sys_munmap(first, first_bytes);
	for (uint32_t i = 0; i < SEGMENTS_MAX && segments[i]; i++) {
		sys_munmap(segments[i], SPOOL_SEGMENT_BYTES);
		segments[i] = NULL;
	}
	first = NULL;
	mapped_bytes = 0;
	lock = 0;
}

/* Map zeroed memory at `place`, where the spool is no longer mapped. */
static void *leave_zeroes(void *place, uint64_t bytes)
{
	return sys_mmap(place, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN | MAP_NORESERVE, -1, 0,
		NULL);
}

#define GENERATIONS 4u /* nested forks, all in handlers that have not returned */

void spool_file_leave(struct lane *lane)
{
	static struct {
		void *header, *lane, *functions;
	} left[GENERATIONS], *now;
	static uint32_t generation;
	void *header = first,
	     *functions = first && lane ? place_at(lane->functions, FUNCTION_STACK_BYTES) : NULL;
	spool_file_forget();
	if (!header)
		return;
	now = &left[generation++ % GENERATIONS];
	if (now->header)
		sys_munmap(now->header, SPOOL_HEADER_BYTES);
	if (now->lane)
		sys_munmap(now->lane, LANE_BYTES);
	if (now->functions)
		sys_munmap(now->functions, FUNCTION_STACK_BYTES);
	now->header = leave_zeroes(header, SPOOL_HEADER_BYTES);
	now->functions = functions ? leave_zeroes(functions, FUNCTION_STACK_BYTES) : NULL;
	now->lane = lane ? leave_zeroes(lane, LANE_BYTES) : NULL;
	if (now->lane) /* no room: see osrt_fast_end() */
		((struct lane *)now->lane)->head = CHUNK_BYTES - RECORD_BYTES;
}
