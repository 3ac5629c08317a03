/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/sys.h"
#include "common/text.h"
#include "tracer/apart.h"
#include "tracer/session.h"
#include "tracer/thread.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SEGMENTS_MAX 1024u /* 1 GiB of spool: LIBTRACE_MEMORY is capped there */

static bool by_page;                 /* the kernel can reserve pages one by one */
static uint64_t reserved_end;        /* of the file: what lies before it is reserved */
static uint64_t file_bytes;          /* of the whole file, growth included */
static uint64_t first_bytes;         /* of the first segment */
static uint64_t mapped_bytes;        /* of the file: all segments that there are */
static char *first;                  /* SPOOL_FIRST_BYTES or more */
static char *segments[SEGMENTS_MAX]; /* SPOOL_SEGMENT_BYTES each */
#define LOCK_YIELDS 100u             /* a growth takes some ten microseconds */
#define LOCK_SLEEP_NS 50000u         /* then its holder is off the processor: on a busy machine */
#define LOCK_WAIT_NS 1000000000u     /* may be long */
#define LOCK_ROUNDS_MAX (LOCK_YIELDS + LOCK_WAIT_NS / LOCK_SLEEP_NS)
static uint32_t lock; /* tid of its holder; held for a few instructions, or one growth; its holder
			 is `busy`, so no handler of its thread wants it */
static uint32_t given_up; /* the holder that was waited for in vain: not so long again */

/* Is the lock ours now? The same thread coming again, or one that has ended, has left the tracer in
 * between (siglongjmp from a handler, cancellation): what it had begun is done again. */
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

/* False when it cannot be had: its holder has left it and done nothing since, or is another stack
 * of this thread, which goes on later. */
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

/*
 * Reserves the pages of [place, place + bytes), so that none of them is a SIGBUS later. Also maps
 * them: one by one they would put a 0.5 us step into every 128th event.
 */
static int populate(char *place, uint64_t bytes)
{
	return sys_madvise(place, bytes, MADV_POPULATE_WRITE);
}

/* Makes the file reach to offset + bytes; reserves that where it cannot be done page by page. */
static int file_extend(int fd, uint64_t offset, uint64_t bytes)
{
	return by_page ? sys_ftruncate(fd, offset + bytes) : sys_fallocate(fd, 0, offset, bytes);
}

/* Maps [offset, offset + bytes) of the file; of it only `now` bytes are reserved at once where
 * pages can be reserved one by one. */
static char *segment_map(int fd, uint64_t offset, uint64_t bytes, uint64_t now, int *ret_error)
{
	char *map =
		sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset, ret_error);
	if (!map)
		return NULL;
	/* After mlockall(MCL_FUTURE) it would count against what the program may lock. */
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
 * The first segment's part of the file, and where that costs nothing all that it may ever get: then
 * it grows without being opened again, which a process that has changed its user or its root could
 * not do. Past RLIMIT_FSIZE it would raise SIGXFSZ in the program: not tried.
 */
static int file_begin(int fd, uint64_t limit_bytes)
{
	uint64_t file_limit = sys_file_limit(),
		 most = file_limit < limit_bytes ? file_limit : limit_bytes;
	/* Linux 5.14 and later; an unknown advice is refused before the length is looked at. */
	by_page = populate(NULL, 0) == 0;
	/* Where pages are reserved one by one, a large first segment costs nothing, and a second
	 * one would be one more mapping for each fork to copy. */
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

struct spool_header *spool_file_create(const char *path, uint64_t limit_bytes, int *ret_error)
{
	char name[600];
	temporary_name(path, name, sizeof(name));
	int fd = sys_openat(AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0) {
		*ret_error = fd;
		return NULL;
	}
	*ret_error = file_begin(fd, limit_bytes);
	first = *ret_error < 0 ? NULL
			       : segment_map(fd, 0, first_bytes, SPOOL_HEADER_BYTES, ret_error);
	sys_close(fd);
	if (!first)
		sys_unlink(name);
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

char *spool_file_chunk(uint64_t offset)
{
	if (offset < SPOOL_HEADER_BYTES || offset % 4096 || offset > mapped_bytes ||
		mapped_bytes - offset < CHUNK_BYTES)
		return NULL;
	return spool_file_at(offset);
}

/* The next segment of a file that is long enough, by way of the one before. */
static char *segment_follow(char *before, uint64_t bytes)
{
	/* An old size of 0 maps the same pages again, and as many more as the new size says. */
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

static void segment_open_apart(void *argument)
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

/* Other threads of the program open and close, too. */
static char *segment_open(uint64_t offset)
{
	struct opening opening = {offset, NULL};
	if (!apart_run(segment_open_apart, &opening))
		segment_open_apart(&opening);
	return opening.map;
}

static bool grow(struct spool_header *header)
{
	uint64_t offset = header->size_bytes;
	uint64_t index = (offset - first_bytes) / SPOOL_SEGMENT_BYTES;
	if (session.restricted || index >= SEGMENTS_MAX ||
		offset + SPOOL_SEGMENT_BYTES > header->limit_bytes)
		return false;
	if (offset + SPOOL_SEGMENT_BYTES <= file_bytes)
		segments[index] = index ? segment_follow(segments[index - 1], SPOOL_SEGMENT_BYTES)
					: segment_follow(first, first_bytes);
	else
		segments[index] = segment_open(offset);
	if (!segments[index])
		return false;
	mapped_bytes = offset + SPOOL_SEGMENT_BYTES;
	__atomic_store_n(&header->size_bytes, offset + SPOOL_SEGMENT_BYTES, __ATOMIC_RELEASE);
	return true;
}

/* End of the segment that holds `offset`. */
static uint64_t segment_end(uint64_t offset)
{
	if (offset < first_bytes)
		return first_bytes;
	return offset + SPOOL_SEGMENT_BYTES - (offset - first_bytes) % SPOOL_SEGMENT_BYTES;
}

bool spool_file_reserve(void *place, uint64_t bytes)
{
	return !session.restricted && populate(place, bytes) == 0;
}

uint64_t spool_file_take(uint64_t bytes, uint64_t now, void **ret_place)
{
	struct spool_header *header = session.spool;
	if (!lock_take(thread_self.tid ? thread_self.tid : (uint32_t)sys_gettid()))
		return 0;
	uint64_t offset = header->next_offset;
	if (offset + bytes > segment_end(offset))
		offset = segment_end(offset);
	bool taken = (!header->limit_bytes || offset + bytes <= header->limit_bytes) &&
		(offset + bytes <= header->size_bytes || grow(header));
	if (taken && offset + now > reserved_end)
		taken = spool_file_reserve(spool_file_at(offset), now);
	if (taken) {
		__atomic_store_n(&header->next_offset, offset + bytes, __ATOMIC_RELEASE);
		*ret_place = spool_file_at(offset);
	}
	lock_give();
	return taken ? offset : 0;
}

/* Lanes whose first chunk is reserved in part: wholly, now. */
static void lanes_reserve(struct spool_header *header)
{
	for (uint32_t i = 0; i < header->lane_count; i++) {
		uint64_t offset = __atomic_load_n(&header->lane_offset[i], __ATOMIC_ACQUIRE);
		struct lane *lane = offset ? spool_file_at(offset) : NULL;
		if (lane && lane->partial && lane->chunk_count &&
			spool_file_reserve(spool_file_at(lane->chunk[0]), CHUNK_BYTES))
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
	if (header->size_bytes - header->next_offset < SPOOL_SEGMENT_BYTES / 2)
		grow(header);
	uint64_t begin = header->next_offset;
	for (uint64_t end; begin < header->size_bytes; begin = end) {
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

/* Pages of our own with the `used` bytes that the mapping at `place` holds, in its place. */
static bool segment_detach(char *place, uint64_t bytes, uint64_t used)
{
	char *copy = sys_mmap_private(bytes);
	if (!copy)
		return false;
	struct iovec from = {place, used < bytes ? used : bytes}, to = {copy, bytes};
	SYS6(SYS_process_vm_readv, sys_getpid(), &to, 1, &from, 1, 0);
	long result = SYS5(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (result != (long)(uintptr_t)place)
		sys_munmap(copy, bytes);
	return result == (long)(uintptr_t)place;
}

bool spool_file_detach(void)
{
	uint64_t used = ((struct spool_header *)(void *)first)->next_offset, at = first_bytes;
	bool done = segment_detach(first, first_bytes, used);
	for (uint32_t i = 0; done && i < SEGMENTS_MAX && segments[i]; i++) {
		done = segment_detach(segments[i], SPOOL_SEGMENT_BYTES, used > at ? used - at : 0);
		at += SPOOL_SEGMENT_BYTES;
	}
	return done;
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

void spool_file_leave(struct lane *lane)
{
	static struct lane *left;
	const bool was_mapped = first;
	spool_file_forget();
	if (!was_mapped)
		return;
	if (left)
		sys_munmap(left, LANE_BYTES);
	left = lane ? sys_mmap(lane, LANE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, NULL)
		    : NULL;
}
