/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer.h - helpers that the tests of the writer share: TAP lines, a producer that needs no
 * libtrace.so, and a reader of reports.
 *
 * All of it is small and trusts its caller; a failure of the environment ends the test program.
 */
#ifndef TESTS_UNIT_TEST_WRITER_H
#define TESTS_UNIT_TEST_WRITER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/schema/functions.h"
#include "common/tree.h"
#include "report.pb-c.h"
#include "writer/report/batch.h"

static int tap_count, tap_failed;

__attribute__((unused)) static bool tap(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tap_count, name);
	tap_failed += !ok;
	return ok;
}

__attribute__((unused)) static bool tap_equal(int64_t got, int64_t expected, const char *name)
{
	if (got == expected)
		return tap(true, name);
	printf("not ok %d - %s: expected %lld, got %lld\n", ++tap_count, name, (long long)expected,
		(long long)got);
	tap_failed++;
	return false;
}

__attribute__((unused)) static int tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

static void *check(void *p, const char *what)
{
	if (!p || p == MAP_FAILED) {
		perror(what);
		exit(99);
	}
	return p;
}

/* ---- a tree and its spools ---- */

struct fake_tree {
	char dir[128], report[160];
	struct tree_control *control;
};

struct fake_spool {
	struct spool_header *header;
	uint8_t *map;
	char path[256];
};

#define FAKE_SPOOL_BYTES (24u << 20)

__attribute__((unused)) static void fake_tree_make(struct fake_tree *t)
{
	snprintf(t->dir, sizeof(t->dir), "/dev/shm/libtrace-test-XXXXXX");
	check(mkdtemp(t->dir), "mkdtemp");
	snprintf(t->report, sizeof(t->report), "%s.rep", t->dir);
	unlink(t->report);
	char path[256];
	snprintf(path, sizeof(path), "%s/control", t->dir);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, TREE_CONTROL_BYTES))
		check(NULL, path);
	t->control = check(
		mmap(NULL, TREE_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "mmap");
	close(fd);
	struct tree_control *c = t->control;
	c->version = TREE_VERSION;
	c->root_pid = 0x7fffffff; /* 0: no process; the tree lives as long as its spools */
	c->created_mono_ns = clock_monotonic_ns();
	c->created_realtime_ns = (uint64_t)time(NULL) * 1000000000u;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
	if (read(fd, c->boot_id, 36) != 36)
		c->boot_id[0] = '?';
	close(fd);
	memcpy(c->output, t->report, sizeof(t->report));
	c->flush_interval_ns = 1000000000;
	c->by_time.gate = 1;
	c->guard_first = c->guard_last = TREE_GUARD;
	c->magic = TREE_MAGIC;
}

__attribute__((unused)) static uint64_t fake_take(struct fake_spool *s, uint64_t bytes)
{
	uint64_t offset = s->header->next_offset;
	if (offset + bytes > FAKE_SPOOL_BYTES)
		check(NULL, "fake spool is full");
	s->header->next_offset += bytes;
	return offset;
}

__attribute__((unused)) static void fake_spool_make(
	struct fake_spool *s, struct fake_tree *t, uint32_t pid, enum clock_kind kind)
{
	static int serial;
	snprintf(s->path, sizeof(s->path), "%s/%u-%d.spool", t->dir, pid, ++serial);
	int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, FAKE_SPOOL_BYTES))
		check(NULL, s->path);
	s->map = check(
		mmap(NULL, FAKE_SPOOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "mmap");
	close(fd);
	struct spool_header *h = s->header = (void *)s->map;
	struct stat status;
	stat("/proc/self/ns/pid", &status);
	h->version = SPOOL_VERSION;
	h->fn_count = fn_count();
	h->fn_hash = fn_hash();
	h->pid = pid;
	h->ppid = (uint32_t)getppid();
	h->state = SPOOL_RUNNING;
	h->pid_namespace = status.st_ino;
	h->clock_kind = kind;
	clock_init();
	if (kind == CLOCK_KIND_TSC)
		clock_point_take(&h->first);
	else
		h->first.tick = h->first.mono_ns = clock_monotonic_ns();
	h->last = h->first;
	h->next_offset = SPOOL_HEADER_BYTES;
	h->size_bytes = FAKE_SPOOL_BYTES;
	static const char text[] = "/bin/fake\0/tmp\0fake\0--option";
	memcpy(h->text, text, sizeof(text));
	h->exe_bytes = 10;
	h->cwd_bytes = 5;
	h->argv_bytes = sizeof(text) - 15;
	h->magic = SPOOL_MAGIC;
	__atomic_add_fetch(&t->control->spools, 1, __ATOMIC_RELEASE);
}

__attribute__((unused)) static struct lane *fake_lane(struct fake_spool *s)
{
	uint64_t offset = fake_take(s, LANE_BYTES);
	struct lane *lane = (void *)(s->map + offset);
	lane->state = LANE_LEASED;
	lane->tid = lane->pid = s->header->pid;
	s->header->lane_offset[s->header->lane_count] = offset;
	__atomic_add_fetch(&s->header->lane_count, 1, __ATOMIC_RELEASE);
	return lane;
}

/* Return the position of the next record; wait for the writer when all chunks are full. */
__attribute__((unused)) static struct record *fake_slot(
	struct fake_spool *s, struct lane *lane, unsigned chunks)
{
	uint64_t n = lane->head / CHUNK_BYTES;
	if (lane->head % CHUNK_BYTES == 0) {
		if (n < chunks) {
			lane->chunk[n] =
				lane_chunk_entry(n, fake_take(s, CHUNK_BYTES), (uint32_t)n + 1);
		} else {
			while (__atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE) <
				(n - chunks + 1) * CHUNK_BYTES) {
				if (access(s->path, F_OK))
					check(NULL, "the writer has given the spool up");
				usleep(100);
			}
			lane->chunk[n % LANE_CHUNKS_MAX] =
				lane_chunk_entry(n, lane_chunk_offset(lane, n - chunks), chunks);
		}
	}
	return (void *)(s->map + lane_chunk_offset(lane, n) + lane->head % CHUNK_BYTES);
}

#define FAKE_CHUNKS 32u

__attribute__((unused)) static void fake_put(struct fake_spool *s, struct lane *lane, uint64_t tick,
	uint64_t word, uint64_t a, uint64_t b)
{
	*fake_slot(s, lane, FAKE_CHUNKS) = (struct record){tick, word, a, b};
	__atomic_store_n(&lane->head, lane->head + RECORD_BYTES, __ATOMIC_RELEASE);
}

__attribute__((unused)) static void fake_call(
	struct fake_spool *s, struct lane *lane, uint64_t tick, uint64_t ticks, uint32_t fn)
{
	fake_put(s, lane, tick, ticks << RECORD_LENGTH_SHIFT | fn, 5, 3);
}

/* Append a record with its payload, after a pad if the chunk has too little room. */
__attribute__((unused)) static void fake_put_long(struct fake_spool *s, struct lane *lane,
	uint64_t tick, uint32_t kind, uint64_t a, uint64_t b, const void *payload, uint64_t bytes)
{
	uint64_t total = RECORD_BYTES * (1 + (bytes + RECORD_BYTES - 1) / RECORD_BYTES),
		 left = CHUNK_BYTES - lane->head % CHUNK_BYTES;
	struct record *r = fake_slot(s, lane, FAKE_CHUNKS);
	if (left < total) {
		*r = (struct record){1, REC_PAD, 0, 0};
		__atomic_store_n(&lane->head, lane->head + left, __ATOMIC_RELEASE);
		r = fake_slot(s, lane, FAKE_CHUNKS);
	}
	*r = (struct record){tick, bytes << RECORD_LENGTH_SHIFT | kind, a, b};
	if (bytes)
		memcpy(r + 1, payload, bytes);
	__atomic_store_n(&lane->head, lane->head + total, __ATOMIC_RELEASE);
}

__attribute__((unused)) static void fake_thread_start(
	struct fake_spool *s, struct lane *lane, uint32_t tid, uint32_t pid, uint32_t flags)
{
	struct thread_start start = {.name = "worker", .flags = flags};
	fake_put_long(
		s, lane, clock_monotonic_ns(), REC_THREAD_START, tid, pid, &start, sizeof(start));
}

/* ---- a report ---- */

struct report {
	uint8_t *data;
	size_t bytes;
	uint32_t blocks, bad_blocks, bad_sequence, sources;
	uint64_t rows[EVENT_KINDS], header_events, header_dropped;
	Libtrace__Entry *entries[100000];
	uint32_t entry_count;
};

__attribute__((unused)) static void report_take(
	struct report *r, const uint8_t *data, size_t bytes, uint32_t count)
{
	for (size_t at = 0; count-- && at + 4 <= bytes;) {
		uint32_t size;
		memcpy(&size, data + at, 4);
		Libtrace__Entry *entry = libtrace__entry__unpack(NULL, size, data + at + 4);
		at += 4 + size;
		if (!entry || r->entry_count == 100000) {
			r->bad_blocks++;
			return;
		}
		if (entry->batch && entry->batch->kind < EVENT_KINDS)
			r->rows[entry->batch->kind] += entry->batch->count;
		r->entries[r->entry_count++] = entry;
	}
}

/* Return false when the file is not a report. A torn tail counts as a bad block. */
/* The standard entries, which precede the trace's entries. */
static size_t standard_bytes(const uint8_t *payload, size_t bytes, uint32_t count)
{
	size_t at = 0;
	uint32_t size;
	for (; count-- && at + sizeof(size) <= bytes; at += sizeof(size) + size)
		memcpy(&size, payload + at, sizeof(size));
	return at < bytes ? at : bytes;
}

__attribute__((unused)) static bool report_read(struct report *r, const char *path)
{
	memset(r, 0, sizeof(*r));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) || status.st_size < 10)
		return false;
	r->bytes = (size_t)status.st_size;
	r->data = check(malloc(r->bytes), "malloc");
	if (read(fd, r->data, r->bytes) != (ssize_t)r->bytes ||
		memcmp(r->data, "NVR\0\2\0\0\0\x08\x07", 10))
		return false;
	close(fd);
	for (size_t at = 10; at < r->bytes; r->blocks++) {
		uint32_t size = 0;
		if (r->bytes - at >= 4)
			memcpy(&size, r->data + at, 4);
		Libtrace__BlockHeader *h = size && at + 4 + size <= r->bytes
			? libtrace__block_header__unpack(NULL, size, r->data + at + 4)
			: NULL;
		if (!h || at + 4 + size + h->payload_size > r->bytes || !h->libtrace) {
			r->bad_blocks++;
			return true;
		}
		uint8_t *payload = r->data + at + 4 + size;
		Libtrace__BlockExtension *x = h->libtrace;
		r->bad_blocks += crc32c(0, payload, h->payload_size) != x->payload_crc32c;
		r->bad_sequence += x->sequence != r->blocks;
		r->header_events += x->num_events;
		r->header_dropped += x->num_dropped;
		size_t bytes = h->payload_size,
		       skipped = standard_bytes(payload, bytes, h->num_sources + h->num_results);
		r->sources += h->num_sources;
		payload += skipped;
		bytes -= skipped;
		if (x->compression) {
			uint8_t *raw = check(malloc(x->uncompressed_bytes), "malloc");
			size_t got = ZSTD_decompress(raw, x->uncompressed_bytes, payload, bytes);
			report_take(r, raw, ZSTD_isError(got) ? 0 : got, x->num_entries);
			free(raw);
		} else {
			report_take(r, payload, bytes, x->num_entries);
		}
		at += 4 + size + h->payload_size;
		libtrace__block_header__free_unpacked(h, NULL);
	}
	return true;
}

__attribute__((unused)) static void report_release(struct report *r)
{
	for (uint32_t i = 0; i < r->entry_count; i++)
		libtrace__entry__free_unpacked(r->entries[i], NULL);
	free(r->data);
}

__attribute__((unused)) static uint64_t report_rows(const struct report *r)
{
	uint64_t rows = 0;
	for (int kind = 0; kind < EVENT_KINDS; kind++)
		rows += r->rows[kind];
	return rows;
}

/* Return the value of a column in row `row`. */
__attribute__((unused)) static int64_t batch_value(
	const Libtrace__EventBatch *b, uint32_t field, uint32_t row)
{
	for (size_t i = 0; i < b->n_columns; i++) {
		const Libtrace__Column *c = b->columns[i];
		int64_t value = 0;
		if (c->field != field)
			continue;
		if (c->n_values)
			return (int64_t)c->values[row];
		if (c->n_signed_values)
			return c->signed_values[row];
		for (uint32_t k = 0; k <= row && c->n_deltas; k++)
			value += c->deltas[k];
		return c->n_deltas ? value : c->constant;
	}
	return 0;
}

/* Merge the Process entries of an id: the last one with a field wins. Return the latest receipt
 * and end. */
__attribute__((unused)) static const Libtrace__Receipt *report_receipt(
	const struct report *r, uint32_t process)
{
	const Libtrace__Receipt *found = NULL;
	for (uint32_t i = 0; i < r->entry_count; i++)
		if (r->entries[i]->receipt && r->entries[i]->receipt->process == process)
			found = r->entries[i]->receipt;
	return found;
}

__attribute__((unused)) static uint32_t report_process_of(const struct report *r, uint32_t pid)
{
	for (uint32_t i = 0; i < r->entry_count; i++)
		if (r->entries[i]->process && r->entries[i]->process->has_pid &&
			r->entries[i]->process->pid == pid)
			return r->entries[i]->process->id;
	return 0;
}

__attribute__((unused)) static int report_end_of(const struct report *r, uint32_t process)
{
	int end = -1;
	for (uint32_t i = 0; i < r->entry_count; i++)
		if (r->entries[i]->process && r->entries[i]->process->id == process &&
			r->entries[i]->process->has_end)
			end = (int)r->entries[i]->process->end;
	return end;
}

/* Check that string ids are unique in the file, and that every function id of a call has a text. */
__attribute__((unused)) static bool report_strings_sound(const struct report *r)
{
	static uint8_t known[1 << 20];
	memset(known, 0, sizeof(known));
	for (uint32_t i = 0; i < r->entry_count; i++)
		for (size_t k = 0; r->entries[i]->strings && k < r->entries[i]->strings->n_ids; k++)
			if (known[r->entries[i]->strings->ids[k]]++)
				return false;
	for (uint32_t i = 0; i < r->entry_count; i++) {
		const Libtrace__EventBatch *b = r->entries[i]->batch;
		for (uint32_t row = 0; b && b->kind == EVENT_OSRT_CALL && row < b->count; row += 97)
			if (!known[batch_value(b, 3, row)])
				return false;
	}
	return true;
}

#endif
