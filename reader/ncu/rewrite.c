/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.c - copy of a report with some results changed or dropped. */
#define _GNU_SOURCE
#include "reader/ncu/rewrite.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32c.h"
#include "common/varint.h"
#include "reader/ncu/wire.h"

#define COPY_BYTES 65536u

struct rewriting {
	const struct ncu_rewrite *w;
	const struct report *report;
	FILE *out;
	size_t next;         /* first entry of the results not yet seen */
	uint64_t names_from; /* offset of the last block with names; 0 = no block has names */
};

static int bytes_copy(struct rewriting *r, FILE *out, uint64_t from, uint64_t end)
{
	uint8_t room[COPY_BYTES];
	int error = 0;
	while (!error && from < end) {
		size_t bytes = end - from < sizeof(room) ? (size_t)(end - from) : sizeof(room);
		error = source_read(&r->report->source, from, room, bytes);
		if (!error && fwrite(room, 1, bytes, out) != bytes)
			error = errno ? -errno : -EIO;
		from += bytes;
	}
	return error;
}

static int u32_put(uint32_t value, FILE *out)
{
	value = htole32(value);
	return fwrite(&value, 4, 1, out) == 1 ? 0 : -EIO;
}

static int message_put(const ProtobufCMessage *m, FILE *out)
{
	size_t bytes = protobuf_c_message_get_packed_size(m);
	uint8_t *data = bytes <= UINT32_MAX ? malloc(bytes + 1) : NULL;
	if (!data)
		return bytes <= UINT32_MAX ? -ENOMEM : -EOVERFLOW;
	protobuf_c_message_pack(m, data);
	int error = u32_put((uint32_t)bytes, out);
	if (!error && fwrite(data, 1, bytes, out) != bytes)
		error = -EIO;
	free(data);
	return error;
}

/* ---- a block ---- */

struct new_block {
	char *payload;
	size_t bytes;
	uint32_t dropped;
	bool changed;
};

/* Write one entry, unchanged or as the caller decides. */
static int entry_write(struct rewriting *r, size_t i, struct new_block *n, FILE *payload)
{
	const struct ncu_results *results = r->w->results;
	const struct ncu_entry *e = &results->entries[i];
	Ncu__ProfileResult *result = NULL;
	int verdict = NCU_KEEP, error = 0;
	if (e->kind == NCU_RESULT && r->w->judge) {
		error = ncu_result_read(results, i, &result);
		if (!error)
			verdict = r->w->judge(r->w->user, i, result);
	}
	if (verdict < 0)
		error = verdict;
	if (!error && verdict == NCU_KEEP)
		error = bytes_copy(r, payload, e->offset - 4, e->offset + e->bytes);
	else if (!error && verdict == NCU_CHANGED)
		error = message_put(&result->base, payload);
	n->changed |= verdict != NCU_KEEP;
	n->dropped += verdict == NCU_DROP;
	if (result)
		ncu__profile_result__free_unpacked(result, NULL);
	return error;
}

/* Write the payload. Data between the entries of results (sources before them, our own data
 * after them) is copied. */
static int payload_write(struct rewriting *r, const struct report_block *b, struct new_block *n)
{
	const struct ncu_results *results = r->w->results;
	uint64_t at = b->payload_offset;
	FILE *payload = open_memstream(&n->payload, &n->bytes);
	int error = payload ? 0 : -ENOMEM;
	while (!error && r->next < results->count && results->entries[r->next].offset < b->end) {
		const struct ncu_entry *e = &results->entries[r->next];
		error = bytes_copy(r, payload, at, e->offset - 4);
		if (!error)
			error = entry_write(r, r->next, n, payload);
		at = e->offset + e->bytes;
		r->next++;
	}
	if (!error)
		error = bytes_copy(r, payload, at, b->end);
	if (payload && fclose(payload) && !error)
		error = -ENOMEM;
	return !error && n->bytes > UINT32_MAX ? -EOVERFLOW : error;
}

/* Field numbers of BlockHeader. */
enum { HEADER_RESULTS = 2, HEADER_NAMES = 4, HEADER_PAYLOAD = 5, HEADER_OWN = 1000 };

static int varint_write(uint64_t value, FILE *out)
{
	uint8_t room[VARINT_MAX];
	size_t bytes = (size_t)(varint_put(room, value) - room);
	return fwrite(room, 1, bytes, out) == bytes ? 0 : -EIO;
}

static int number_write(uint32_t field, uint64_t value, FILE *out)
{
	int error = varint_write((uint64_t)field << 3 | WIRE_VARINT, out);
	return error ? error : varint_write(value, out);
}

static int bytes_write(uint32_t field, const void *data, size_t bytes, FILE *out)
{
	int error = varint_write((uint64_t)field << 3 | WIRE_BYTES, out);
	if (!error)
		error = varint_write(bytes, out);
	return error || fwrite(data, 1, bytes, out) == bytes ? error : -EIO;
}

/* Write the table of names: those of the block, which are in `f` (NULL = none), then the
 * caller's. */
static int names_write(const struct ncu_rewrite *w, const struct wire_field *f, FILE *out)
{
	char *table = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&table, &bytes);
	int error = memory ? 0 : -ENOMEM;
	if (memory && f)
		fwrite(f->at, 1, (size_t)(f->end - f->at), memory);
	for (size_t i = 0; !error && i < w->name_count; i++)
		error = bytes_write(1, w->names[i], strlen(w->names[i]), memory);
	if (memory && fclose(memory) && !error)
		error = -ENOMEM;
	if (!error)
		error = bytes_write(HEADER_NAMES, table, bytes, out);
	free(table);
	return error;
}

/* Write our own extension with the checksum of the new payload. */
static int own_write(const struct wire_field *f, const struct new_block *n, FILE *out)
{
	const size_t bytes = (size_t)(f->end - f->at);
	Libtrace__BlockExtension *own = libtrace__block_extension__unpack(NULL, bytes, f->at);
	size_t packed = 0;
	uint8_t *data = NULL;
	if (own) {
		own->payload_crc32c = crc32c(0, (const uint8_t *)n->payload, n->bytes);
		packed = libtrace__block_extension__get_packed_size(own);
		data = malloc(packed + 1);
	}
	if (data)
		libtrace__block_extension__pack(own, data);
	int error = data ? bytes_write(HEADER_OWN, data, packed, out) : -ENOMEM;
	free(data);
	if (own)
		libtrace__block_extension__free_unpacked(own, NULL);
	return error;
}

/* Write the header's fields; those that describe changed data are rewritten. */
static int fields_write(struct rewriting *r, const uint8_t *at, const uint8_t *end,
	const struct new_block *n, bool takes_names, FILE *out)
{
	struct wire_field f;
	bool has_names = false;
	int error = 0, more;
	while (!error && (more = wire_next(&at, end, &f)) != 0) {
		if (more < 0)
			error = more;
		else if (f.number == HEADER_RESULTS)
			error = number_write(HEADER_RESULTS, f.value - n->dropped, out);
		else if (f.number == HEADER_PAYLOAD)
			error = number_write(HEADER_PAYLOAD, n->bytes, out);
		else if (f.number == HEADER_NAMES && takes_names && !has_names)
			error = names_write(r->w, &f, out);
		else if (f.number == HEADER_OWN && f.type == WIRE_BYTES)
			error = own_write(&f, n, out);
		else if (fwrite(f.start, 1, (size_t)(f.end - f.start), out) !=
			(size_t)(f.end - f.start))
			error = -EIO;
		has_names |= f.number == HEADER_NAMES;
	}
	return !error && takes_names && !has_names ? names_write(r->w, NULL, out) : error;
}

static int header_write(struct rewriting *r, const struct report_block *b,
	const struct new_block *n, bool takes_names)
{
	const size_t bytes = (size_t)(b->payload_offset - b->offset - 4);
	uint8_t *old = malloc(bytes + 1);
	char *header = NULL;
	size_t new_bytes = 0;
	FILE *memory = old ? open_memstream(&header, &new_bytes) : NULL;
	int error = memory ? source_read(&r->report->source, b->offset + 4, old, bytes) : -ENOMEM;
	if (!error)
		error = fields_write(r, old, old + bytes, n, takes_names, memory);
	if (memory && fclose(memory) && !error)
		error = -ENOMEM;
	if (!error)
		error = u32_put((uint32_t)new_bytes, r->out);
	if (!error && fwrite(header, 1, new_bytes, r->out) != new_bytes)
		error = -EIO;
	free(header);
	free(old);
	return error;
}

static int block_write(struct rewriting *r, const struct report_block *b)
{
	const bool takes_names = r->w->name_count && b->offset == r->names_from;
	struct new_block n = {0};
	int error = payload_write(r, b, &n);
	if (!error && !n.changed && !takes_names) {
		error = bytes_copy(r, r->out, b->offset, b->end);
	} else if (!error) {
		error = header_write(r, b, &n, takes_names);
		if (!error && fwrite(n.payload, 1, n.bytes, r->out) != n.bytes)
			error = -EIO;
	}
	free(n.payload);
	return error;
}

/* ---- the report ---- */

/* Call `one` for each block. */
static int blocks_each(struct rewriting *r,
	int (*one)(struct rewriting *r, const struct report_block *b), const char **ret_cause)
{
	struct report_block b;
	int error = 0;
	report_block_init(&b);
	for (uint64_t at = r->report->first_block; !error && at < r->report->source.size;
		at = b.end) {
		error = report_block_find(&b, &r->report->source, at, ret_cause);
		if (!error)
			error = one(r, &b);
	}
	report_block_release(&b);
	return error;
}

static int names_find(struct rewriting *r, const struct report_block *b)
{
	const Libtrace__StringTable *t = b->header->string_table;
	if (!r->names_from || (t && t->n_strings))
		r->names_from = b->offset;
	return 0;
}

int ncu_rewrite(const struct ncu_rewrite *w, FILE *out, const char **ret_cause)
{
	struct rewriting r = {.w = w, .report = w->results->report, .out = out};
	*ret_cause = "cannot read a result";
	errno = 0;
	int error = w->name_count ? blocks_each(&r, names_find, ret_cause) : 0;
	if (!error)
		error = bytes_copy(&r, out, 0, r.report->first_block);
	return error ? error : blocks_each(&r, block_write, ret_cause);
}
