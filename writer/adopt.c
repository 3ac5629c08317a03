/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.c - opening of the report: a new one, or that of a writer that was killed.
 *
 * Reads the whole blocks that are in the file, and checks that this tree wrote it (Session in block
 * 0). The file is hostile input.
 */
#define _GNU_SOURCE
#include "writer/adopt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/crc32c.h"
#include "writer/base/writer.h"
#include "writer/session.h"

#define ENTRY_BYTES_MAX (64u << 20)

struct adoption {
	struct writer *w;
	const uint8_t *data;
	uint64_t bytes, at;
	uint64_t blocks;
	bool ours;
};

static void take_session(struct adoption *a, const Libtrace__Session *s)
{
	const struct tree_control *c = a->w->control;
	a->ours = s->boot_id && !strncmp(s->boot_id, c->boot_id, sizeof(c->boot_id)) &&
		s->start_ns == c->created_mono_ns && s->root_pid == c->root_pid;
}

static void take_strings(struct writer *w, const Libtrace__Strings *s)
{
	for (size_t i = 0; i < s->n_ids; i++)
		if (s->ids[i] >= w->report.strings.next_id)
			w->report.strings.next_id = s->ids[i] + 1;
}

static void take_entry(struct adoption *a, const uint8_t *data, size_t bytes)
{
	if (!bytes || data[0] == (4 << 3 | 2)) /* a batch, which is not needed */
		return;
	Libtrace__Entry *entry = libtrace__entry__unpack(NULL, bytes, data);
	if (!entry)
		return;
	if (entry->session && !a->blocks)
		take_session(a, entry->session);
	/* The session comes first: nothing is read from the report of another tree. */
	if (entry->strings && a->ours)
		take_strings(a->w, entry->strings);
	if (entry->process && a->ours)
		adopted_add_process(&a->w->adopted, &a->w->known, entry->process);
	if (entry->receipt && a->ours)
		adopted_add_receipt(&a->w->adopted, &a->w->known, entry->receipt);
	libtrace__entry__free_unpacked(entry, NULL);
}

static void take_entries(struct adoption *a, const uint8_t *data, uint64_t bytes, uint32_t count)
{
	uint64_t at = 0;
	while (count-- && bytes - at >= 4) {
		uint32_t size;
		memcpy(&size, data + at, sizeof(size));
		at += sizeof(size);
		if (size > bytes - at)
			return;
		take_entry(a, data + at, size);
		at += size;
	}
}

/* Return the number of bytes of the standard entries, which are stored before ours. */
static uint32_t standard_bytes(const Libtrace__BlockHeader *h, const uint8_t *payload)
{
	uint64_t count = (uint64_t)h->num_sources + h->num_results, at = 0;
	for (uint32_t size; count-- && h->payload_size - at >= sizeof(size); at += size) {
		memcpy(&size, payload + at, sizeof(size));
		at += sizeof(size);
		if (size > h->payload_size - at)
			return h->payload_size;
	}
	return (uint32_t)at;
}

static void take_payload(struct adoption *a, const Libtrace__BlockHeader *h, const uint8_t *payload)
{
	const Libtrace__BlockExtension *x = h->libtrace;
	const uint32_t skipped = standard_bytes(h, payload), bytes = h->payload_size - skipped;
	payload += skipped;
	if (x->compression != LIBTRACE__COMPRESSION__COMPRESSION_ZSTD) {
		take_entries(a, payload, bytes, x->num_entries);
		return;
	}
	if (x->uncompressed_bytes > ENTRY_BYTES_MAX)
		return;
	uint8_t *raw = malloc(x->uncompressed_bytes + 1);
	size_t got = raw ? ZSTD_decompress(raw, x->uncompressed_bytes, payload, bytes) : 0;
	if (raw && !ZSTD_isError(got))
		take_entries(a, raw, got, x->num_entries);
	free(raw);
}

/* Return the length of the block at a->at; 0 if the block is not whole. */
static uint64_t take_block(struct adoption *a)
{
	uint64_t left = a->bytes - a->at;
	uint32_t size;
	if (left < sizeof(size))
		return 0;
	memcpy(&size, a->data + a->at, sizeof(size));
	if (size > left - sizeof(size))
		return 0;
	Libtrace__BlockHeader *header =
		libtrace__block_header__unpack(NULL, size, a->data + a->at + sizeof(size));
	if (!header)
		return 0;
	uint64_t begin = sizeof(size) + size, length = 0;
	const uint8_t *payload = a->data + a->at + begin;
	const Libtrace__BlockExtension *x = header->libtrace;
	if (x && header->payload_size <= left - begin &&
		crc32c(0, payload, header->payload_size) == x->payload_crc32c) {
		length = begin + header->payload_size;
		take_payload(a, header, payload);
		for (size_t i = 0; i < x->n_positions && a->ours; i++)
			adopted_add_position(&a->w->adopted, x->positions[i]);
		if (a->ours && x->sequence >= a->w->report.next_sequence)
			a->w->report.next_sequence = x->sequence + 1;
	}
	libtrace__block_header__free_unpacked(header, NULL);
	return length;
}

static int take_file(struct adoption *a)
{
	static const uint8_t start[] = {'N', 'V', 'R', 0, 2, 0, 0, 0, 8, 7};
	if (a->bytes < sizeof(start) || memcmp(a->data, start, sizeof(start)))
		return -ENOMSG;
	a->at = sizeof(start);
	for (uint64_t length = take_block(a); length; length = take_block(a)) {
		if (!a->blocks++ && !a->ours)
			return -ENOMSG;
		a->at += length;
	}
	return a->blocks ? 0 : -ENOMSG;
}

int adopt_report(struct writer *w)
{
	struct stat status;
	if (fstat(w->report.sink.fd, &status))
		return -errno;
	if (!status.st_size)
		return -ENOMSG;
	void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, w->report.sink.fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	struct adoption a = {.w = w, .data = map, .bytes = (uint64_t)status.st_size};
	int error = take_file(&a);
	munmap(map, (size_t)status.st_size);
	if (error)
		return error;
	return sink_adopt_at(&w->report.sink, a.at);
}

int writer_open_report(struct writer *w, const char *path, bool overwrite)
{
	snprintf(w->report.path, sizeof(w->report.path), "%s", path);
	int error = w->report.block.positions
		? 0
		: block_init(&w->report.block, w->control->compress == 1);
	if (error)
		return error;
	error = sink_open(&w->report.sink, path, w->control->report_inode);
	if (!error) {
		error = adopt_report(w);
		if (!error) {
			w->report.has_header = true;
			session_put(w);
			return 0;
		}
		uint64_t bytes = (uint64_t)lseek(w->report.sink.fd, 0, SEEK_END);
		sink_close(&w->report.sink);
		if (error != -ENOMSG)
			return error;
		overwrite |= bytes ==
			0; /* an empty file: a predecessor may have died before its first write */
	} else if (error != -ENOENT && error != -EPERM) {
		return error;
	}
	error = sink_create(&w->report.sink, path, overwrite);
	if (error)
		return error;
	w->control->report_inode = w->report.sink.inode;
	session_put(w);
	return writer_flush(w, false);
}
