/* SPDX-License-Identifier: Apache-2.0 */
/* spill.c - one range of addresses, of anonymous memory at first, then of a file. */
#define _GNU_SOURCE
#include "reader/base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/array.h"

#define PAGE SPILL_PAGE
#define PAGE_MOST (64ul << 10)     /* the largest page of a machine */
#define STEP (16ul << 20)          /* the range grows by so much */
#define RESERVED_MOST (1ul << 40)  /* of address space */
#define RESERVED_LEAST (1ul << 28) /* as far as a limit of the process permits */
#define RUN_BYTES (16ul << 20)     /* sorted in memory at once */
#define COPY_BYTES (1ul << 20)
#define ALIGNMENT 16u
#define PER_USE 64u /* elements, of at most a page */

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static int reserve(struct spill *s)
{
	for (size_t bytes = RESERVED_MOST; bytes >= RESERVED_LEAST; bytes /= 2) {
		void *base = mmap(
			NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base == MAP_FAILED)
			continue;
		s->base = base;
		s->reserved = bytes;
		return 0;
	}
	return -ENOMEM;
}

static int file_create(void)
{
	const char *place = getenv("TMPDIR");
	int fd = open(
		place && *place == '/' ? place : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int written(int fd, const char *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		ssize_t now = pwrite(fd, bytes + at, count - at, (off_t)at);
		if (now < 0 && errno != EINTR)
			return -errno;
		at += now > 0 ? (size_t)now : 0;
	}
	return 0;
}

/* Give the file blocks up to `bytes`, since a write to a page without room would end the process,
 * and map them from `from` on. */
static int file_map(int fd, const struct spill *s, size_t from, size_t bytes)
{
	int error = bytes > from ? posix_fallocate(fd, (off_t)from, (off_t)(bytes - from)) : 0;
	if (error)
		return -error;
	void *at = bytes > from ? mmap(s->base + from, bytes - from, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_FIXED, fd, (off_t)from)
				: s->base;
	return at == MAP_FAILED ? -errno : 0;
}

/* Move what is in memory to a file. */
static int file_begin(struct spill *s)
{
	int fd = file_create();
	int error = fd < 0 ? fd : written(fd, s->base, s->used);
	error = error ? error : file_map(fd, s, 0, s->mapped);
	if (error && fd >= 0)
		close(fd);
	if (!error) {
		s->fd = fd;
		s->is_file = true;
	}
	return error;
}

/* Extend the range to `bytes`. */
static int extend(struct spill *s, size_t bytes)
{
	int error = s->base ? 0 : reserve(s);
	if (error || bytes <= s->mapped)
		return error;
	bytes = round_up(bytes, STEP);
	if (bytes > s->reserved)
		return -ENOMEM;
	if (!s->is_file && bytes > s->limit)
		error = file_begin(s);
	if (!error && s->is_file)
		error = file_map(s->fd, s, s->mapped, bytes);
	else if (!error && mprotect(s->base + s->mapped, bytes - s->mapped, PROT_READ | PROT_WRITE))
		error = -errno;
	s->mapped = error ? s->mapped : bytes;
	return error;
}

void spill_drop(struct spill *s, void *elements, size_t bytes)
{
	const size_t start = elements ? (size_t)((char *)elements - s->base) : 0,
		     from = round_up(start, PAGE_MOST),
		     to = (start + bytes) / PAGE_MOST * PAGE_MOST;
	if (to <= from)
		return;
	if (s->is_file)
		fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			(off_t)(to - from));
	madvise(s->base + from, to - from, MADV_DONTNEED);
}

/* Take the next bytes of the range. */
static int take(struct spill *s, size_t bytes, char **ret_at)
{
	bytes = round_up(bytes, ALIGNMENT);
	int error = extend(s, s->used + bytes);
	if (error)
		return error;
	*ret_at = s->base + s->used;
	s->used += bytes;
	return 0;
}

void spill_copy(struct spill *s, void *to, const void *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += COPY_BYTES) {
		const size_t now = bytes - at < COPY_BYTES ? bytes - at : COPY_BYTES;
		memcpy((char *)to + at, (const char *)from + at, now);
		spill_use(s, (uint32_t)(2 * COPY_BYTES / PAGE));
	}
}

int spill_room(
	struct spill *s, void *array, uint64_t count, uint32_t *capacity, size_t element_bytes)
{
	char *before, *after;
	if (count < *capacity)
		return 0;
	const uint64_t more = *capacity ? 2 * (uint64_t)*capacity : ARRAY_FIRST;
	const size_t own = *capacity * element_bytes;
	if (more > ARRAY_MAX)
		return -ENOMEM;
	memcpy(&before, array, sizeof(before));
	const bool is_last = own && before + round_up(own, ALIGNMENT) == s->base + s->used;
	int error = take(s, is_last ? own : more * element_bytes, &after);
	if (error)
		return error;
	after = is_last ? before : after;
	if (own && !is_last) {
		spill_copy(s, after, before, own);
		spill_drop(s, before, own);
	}
	*capacity = (uint32_t)more;
	memcpy(array, &after, sizeof(after));
	return 0;
}

void spill_pass(struct spill *s)
{
	if (s->is_file)
		madvise(s->base, s->mapped, MADV_DONTNEED);
	s->passed = 0;
}

void spill_release(struct spill *s)
{
	if (s->base)
		munmap(s->base, s->reserved);
	if (s->is_file)
		close(s->fd);
	*s = (struct spill){.limit = s->limit};
}

/* ---- sorting ---- */

/* Sorted runs of an array that are merged; a heap of those that have elements left. */
struct merge {
	const char **next, **end;
	uint32_t count;
	size_t element_bytes;
	int (*order)(const void *one, const void *two);
};

static void sink(struct merge *m, uint32_t at)
{
	for (;;) {
		uint32_t least = at;
		for (uint32_t i = 2 * at + 1; i <= 2 * at + 2 && i < m->count; i++)
			if (m->order(m->next[i], m->next[least]) < 0)
				least = i;
		if (least == at)
			return;
		const char *next = m->next[at], *end = m->end[at];
		m->next[at] = m->next[least];
		m->end[at] = m->end[least];
		m->next[least] = next;
		m->end[least] = end;
		at = least;
	}
}

/* Write the elements of all runs in order. */
static void merge_write(struct merge *m, struct spill *s, char *to)
{
	for (uint32_t i = m->count; i-- > 0;)
		sink(m, i);
	for (uint32_t written_count = 1; m->count; written_count++) {
		memcpy(to, m->next[0], m->element_bytes);
		to += m->element_bytes;
		m->next[0] += m->element_bytes;
		if (m->next[0] == m->end[0]) {
			m->count--;
			m->next[0] = m->next[m->count];
			m->end[0] = m->end[m->count];
		}
		sink(m, 0);
		if (written_count % PER_USE == 0)
			spill_use(s, 2);
	}
}

static int runs_merge(
	struct spill *s, const char *list, uint32_t count, uint32_t run, char *to, struct merge *m)
{
	const uint32_t runs = (count + run - 1) / run;
	m->next = calloc(runs, sizeof(*m->next));
	m->end = calloc(runs, sizeof(*m->end));
	const bool failed = !m->next || !m->end;
	for (; !failed && m->count < runs; m->count++) {
		const uint32_t from = m->count * run, end = count - from < run ? count : from + run;
		m->next[m->count] = list + from * m->element_bytes;
		m->end[m->count] = list + end * m->element_bytes;
	}
	if (!failed)
		merge_write(m, s, to);
	free(m->next);
	free(m->end);
	return failed ? -ENOMEM : 0;
}

int spill_sort(struct spill *s, void *array, uint32_t count, uint32_t *capacity,
	size_t element_bytes, int (*order)(const void *one, const void *two))
{
	const uint32_t run = (uint32_t)(RUN_BYTES / element_bytes);
	struct merge m = {.element_bytes = element_bytes, .order = order};
	char *list, *to;
	uint32_t sorted = 1;
	memcpy(&list, array, sizeof(list));
	while (sorted < count &&
		order(list + (sorted - 1) * element_bytes, list + sorted * element_bytes) <= 0) {
		if (++sorted % PER_USE == 0)
			spill_use(s, 1);
	}
	if (sorted >= count)
		return 0;
	for (uint32_t from = 0; from < count; from += run) {
		const uint32_t of_run = count - from < run ? count - from : run;
		qsort(list + from * element_bytes, of_run, element_bytes, order);
		spill_use(s, (uint32_t)(RUN_BYTES / PAGE));
	}
	if (count <= run)
		return 0;
	int error = take(s, count * element_bytes, &to);
	error = error ? error : runs_merge(s, list, count, run, to, &m);
	if (error)
		return error;
	spill_drop(s, list, *capacity * element_bytes);
	*capacity = count;
	memcpy(array, &to, sizeof(to));
	return 0;
}
