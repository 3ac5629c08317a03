/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.c - going on with the report of a writer that was killed.
 *
 * Reads the whole blocks that are in the file, finds out that this tree made it (Session in block
 * 0), and what the next block has to go on from: sequence, string and process ids, positions of
 * lanes, finished processes. The file is as hostile as any.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include "common/array.h"
#include "common/crc32c.h"
#include "writer/writer.h"

#define ENTRY_BYTES_MAX (64u << 20)
#define LANES_SEARCHED \
	4096u /* back from the end: one that lies further back simply stands there twice */

struct adoption {
	struct writer *w;
	const uint8_t *data;
	uint64_t bytes, at;
	uint64_t blocks;
	bool ours;
};

static void take_position(struct writer *w, const Libtrace__LanePosition *p)
{
	Libtrace__LanePosition copy = *p;
	copy.base.n_unknown_fields = 0;
	copy.base.unknown_fields = NULL;
	for (uint32_t i = 0; i < w->adopted_lane_count && i < LANES_SEARCHED; i++) {
		Libtrace__LanePosition *other = &w->adopted_lanes[w->adopted_lane_count - 1 - i];
		if (other->process == p->process && other->lane == p->lane) {
			*other = copy;
			return;
		}
	}
	if (array_room(&w->adopted_lanes, w->adopted_lane_count, &w->adopted_lane_capacity,
		    sizeof(copy)))
		return;
	w->adopted_lanes[w->adopted_lane_count++] = copy;
}

static void take_process(struct writer *w, const Libtrace__Process *p)
{
	if (p->id >= w->next_process_id)
		w->next_process_id = p->id + 1;
	if (!p->spool)
		return;
	if (array_room(&w->adopted_processes, w->adopted_process_count,
		    &w->adopted_process_capacity, sizeof(struct adopted_process)))
		return;
	struct adopted_process *adopted = &w->adopted_processes[w->adopted_process_count++];
	*adopted = (struct adopted_process){.id = p->id, .pid = p->pid};
	strncpy(adopted->spool, p->spool, sizeof(adopted->spool) - 1);
	process_remember(w, p->pid, p->id, p->start_ns);
	struct known_process *known = known_of_id(&w->known, p->id);
	if (known)
		known->adopted = w->adopted_process_count;
}

static void take_receipt(struct writer *w, const Libtrace__Receipt *r)
{
	const struct known_process *known = known_of_id(&w->known, r->process);
	if (known && known->adopted)
		w->adopted_processes[known->adopted - 1].finished = true;
}

static void take_session(struct adoption *a, const Libtrace__Session *s)
{
	const struct tree_control *c = a->w->control;
	a->ours = s->boot_id && !strncmp(s->boot_id, c->boot_id, sizeof(c->boot_id)) &&
		s->start_ns == c->created_mono_ns && s->root_pid == c->root_pid;
}

static void take_strings(struct writer *w, const Libtrace__Strings *s)
{
	for (size_t i = 0; i < s->n_ids; i++)
		if (s->ids[i] >= w->strings.next_id)
			w->strings.next_id = s->ids[i] + 1;
}

static void take_entry(struct adoption *a, const uint8_t *data, size_t bytes)
{
	if (!bytes || data[0] == (4 << 3 | 2)) /* a batch: nothing in it for us */
		return;
	Libtrace__Entry *entry = libtrace__entry__unpack(NULL, bytes, data);
	if (!entry)
		return;
	if (entry->session && !a->blocks)
		take_session(a, entry->session);
	/* The session comes first: nothing is taken from somebody else's report. */
	if (entry->strings && a->ours)
		take_strings(a->w, entry->strings);
	if (entry->process && a->ours)
		take_process(a->w, entry->process);
	if (entry->receipt && a->ours)
		take_receipt(a->w, entry->receipt);
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

/* Where our entries begin: the standard ones lie before them. */
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

/* Length of the block at a->at, 0 when it is not whole. */
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
			take_position(a->w, x->positions[i]);
		if (a->ours && x->sequence >= a->w->next_sequence)
			a->w->next_sequence = x->sequence + 1;
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
	if (fstat(w->sink.fd, &status))
		return -errno;
	if (!status.st_size)
		return -ENOMSG;
	void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, w->sink.fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	struct adoption a = {.w = w, .data = map, .bytes = (uint64_t)status.st_size};
	int error = take_file(&a);
	munmap(map, (size_t)status.st_size);
	if (error)
		return error;
	return sink_adopt_at(&w->sink, a.at);
}

const struct adopted_process *adopted_find(const struct writer *w, const struct spool *spool)
{
	for (const struct known_process *p = known_of_pid(&w->known, spool->pid); p;
		p = known_before(&w->known, p))
		if (p->adopted && !strcmp(w->adopted_processes[p->adopted - 1].spool, spool->name))
			return &w->adopted_processes[p->adopted - 1];
	return NULL;
}

static const Libtrace__LanePosition *position_find(
	const struct writer *w, uint32_t process, uint32_t lane)
{
	for (uint32_t i = w->adopted_lane_count; i-- > 0;)
		if (w->adopted_lanes[i].process == process && w->adopted_lanes[i].lane == lane)
			return &w->adopted_lanes[i];
	return NULL;
}

void adopted_apply(struct writer *w, const struct spool *spool, struct lane_view *view)
{
	const Libtrace__LanePosition *p =
		adopted_find(w, spool) ? position_find(w, spool->id, view->index) : NULL;
	if (!p)
		return;
	view->tid = p->tid;
	view->owner = p->owner;
	view->own = (struct tally){p->events, p->events, p->summarized, p->abandoned,
		p->impossible_times, p->unfinished};
	view->guest = (struct tally){.produced = p->owner_events, .written = p->owner_events};
	view->closed = p->closed;
	if (p->position >= view->position) {
		view->position = p->position / RECORD_BYTES * RECORD_BYTES;
		view->touched = true;
	} else {
		writer_note(w, spool->pid, 0,
			"%llu bytes of records of lane %u were read by an earlier writer but are "
			"not in this report",
			(unsigned long long)(view->position - p->position), view->index);
	}
	const struct known_process *owner =
		view->owner ? known_of_id(&w->known, view->owner) : NULL;
	if (owner)
		view->owner_pid = owner->pid;
}
