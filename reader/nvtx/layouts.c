/* SPDX-License-Identifier: Apache-2.0 */
/* layouts.c - layouts of NVTX payloads: offsets of their entries, and printing of their
 * values. */
#define _GNU_SOURCE
#include "reader/nvtx/layouts.h"

#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/nvtx/values.h"

#define VALUE_BYTES 16u /* bytes of a text that count as one value */
#define VALUE_ROWS 256u /* rows of a layout searched that count as one value */
#define NAME_BYTES_MAX 1024u
#define EXTENT_DEPTH_MAX 64u

/* ---- payloads ---- */

/* Join the pieces of one index, up to the first missing one. */
static void blob_make(struct decode *d, const struct nvtx_piece *pieces, uint32_t count)
{
	struct blob b = {.index = pieces[0].key.index,
		.schema = pieces[0].schema,
		.address = pieces[0].address,
		.stated_bytes = pieces[0].bytes,
		.time_ns = pieces[0].key.time_ns};
	const struct string_table *strings = &d->p->contents->strings;
	struct string_ref first = string_table_get(strings, pieces[0].data);
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < count && pieces[i].offset == bytes; i++)
		bytes += string_table_get(strings, pieces[i].data).bytes;
	b.data = (const uint8_t *)first.text;
	b.bytes = first.bytes;
	if (count > 1 && bytes > first.bytes && (b.own = malloc(bytes))) {
		uint64_t at = 0;
		for (uint32_t i = 0; i < count && pieces[i].offset == at; i++) {
			struct string_ref piece = string_table_get(strings, pieces[i].data);
			memcpy(b.own + at, piece.text, piece.bytes);
			at += piece.bytes;
		}
		b.data = b.own;
		b.bytes = at;
	}
	d->blobs[d->blob_count++] = b;
}

static void blobs_make(struct decode *d)
{
	uint32_t count, end;
	const struct nvtx_piece *pieces =
		nvtx_pieces_find(d->p, d->ref.process, d->ref.payload, &count);
	for (uint32_t i = 0; i < count && d->blob_count < BLOBS_MAX; i = end) {
		for (end = i + 1; end < count; end++)
			if (pieces[end].key.index != pieces[i].key.index ||
				pieces[end].offset <= pieces[end - 1].offset)
				break;
		blob_make(d, pieces + i, end - i);
	}
}

void decode_seek(struct decode *d, const struct blob *b)
{
	d->time_ns = b->time_ns;
	nvtx_payloads_seek(d->p, d->ref.process);
}

struct decode *decode_open(
	FILE *out, struct nvtx_payloads *p, const struct nvtx_payload_ref *reference)
{
	struct decode *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->out = out;
	d->p = p;
	d->ref = *reference;
	d->domain = nvtx_domain_key(p->contents, reference->domain);
	blobs_make(d);
	return d;
}

void decode_close(struct decode *d)
{
	for (uint32_t i = 0; d && i < d->blob_count; i++)
		free(d->blobs[i].own);
	free(d);
}

/* ---- layouts by type ---- */

struct nvtx_layout_row *decode_layout(struct decode *d, uint64_t type)
{
	const struct nvtx_key wanted = {
		.process = d->ref.process, .domain = d->domain, .id = type, .time_ns = d->time_ns};
	return type >= NVTX_TYPES_END ? nvtx_layout_find(d->p, wanted) : NULL;
}

static const struct nvtx_entry_row *entries_of(
	const struct decode *d, const struct nvtx_layout_row *l)
{
	return l->count ? (const struct nvtx_entry_row *)d->p->entries.rows + l->first : NULL;
}

static bool is_union(const struct nvtx_layout_row *l)
{
	return l->layout == NVTX_LAYOUT_UNION || l->layout == NVTX_LAYOUT_UNION_SELECTED;
}

/* ---- extents ---- */

static struct nvtx_extent entry_extent(struct decode *d, const struct nvtx_entry_row *e)
{
	return nvtx_entry_extent(e->flags, e->type, e->detail, decode_extent(d, e->type));
}

/* Return the offset of a member of a union: its own, or after the selector when it has none. */
static uint64_t member_begin(struct decode *d, const struct nvtx_layout_row *l, uint32_t index)
{
	const struct nvtx_entry_row *e = entries_of(d, l) + index;
	if (l->layout != NVTX_LAYOUT_UNION_SELECTED || e->offset || e->type == NVTX_TYPE_SELECTOR)
		return e->offset;
	return nvtx_entry_begin(1, 0, nvtx_type_extent(NVTX_TYPE_SELECTOR).bytes,
		entry_extent(d, e).align, l->pack);
}

/* Return the extent of a layout, computed once. A layout that contains itself has none. */
static struct nvtx_extent layout_extent(struct decode *d, struct nvtx_layout_row *l)
{
	struct nvtx_extent whole = {0, 1};
	if (l->state || d->extent_depth >= EXTENT_DEPTH_MAX)
		return l->state == 2 ? l->extent : whole;
	l->state = 1;
	d->extent_depth++;
	const struct nvtx_entry_row *e = entries_of(d, l);
	for (uint32_t i = 0; i < l->count && !l->is_enum; i++) {
		struct nvtx_extent own = entry_extent(d, &e[i]);
		uint64_t begin = is_union(l)
			? member_begin(d, l, i)
			: nvtx_entry_begin(i, e[i].offset, whole.bytes, own.align, l->pack);
		if (own.align > whole.align)
			whole.align = own.align;
		if (own.bytes >= NVTX_BYTES_UNKNOWN - begin || whole.bytes == NVTX_BYTES_UNKNOWN)
			whole.bytes = NVTX_BYTES_UNKNOWN;
		else if (begin + own.bytes > whole.bytes)
			whole.bytes = begin + own.bytes;
	}
	if (l->pack && l->pack < whole.align)
		whole.align = (uint32_t)l->pack;
	whole.bytes = nvtx_entry_begin(1, 0, whole.bytes, whole.align, 0);
	if (l->bytes && l->layout != NVTX_LAYOUT_DYNAMIC)
		whole.bytes = l->bytes;
	if (l->is_enum)
		whole.align =
			l->bytes == 2 || l->bytes == 4 || l->bytes == 8 ? (uint32_t)l->bytes : 1;
	d->extent_depth--;
	l->extent = whole;
	l->state = 2;
	return whole;
}

struct nvtx_extent decode_extent(struct decode *d, uint64_t type)
{
	struct nvtx_layout_row *l = decode_layout(d, type);
	return l ? layout_extent(d, l) : nvtx_type_extent(type);
}

/* ---- single values ---- */

static void enum_print(struct decode *d, const struct nvtx_layout_row *l, const struct location *at)
{
	const struct nvtx_value_row *v =
		l->count ? (const struct nvtx_value_row *)d->p->values.rows + l->first : NULL;
	uint64_t bytes = l->bytes < 8 ? l->bytes : 8, rest;
	d->values += l->count / VALUE_ROWS;
	if (!bytes || location_left(at) < bytes) {
		fputs("null", d->out);
		return;
	}
	uint64_t value = nvtx_unsigned(location_bytes(at), (uint32_t)bytes),
		 mask = bytes < 8 ? (UINT64_C(1) << bytes * 8) - 1 : UINT64_MAX;
	const struct string_table *strings = &d->p->contents->strings;
	for (uint32_t i = 0; i < l->count; i++)
		if (((uint64_t)v[i].value & mask) == value) {
			struct string_ref name = string_table_get(strings, v[i].name);
			print_json(d->out, name.text, name.bytes);
			return;
		}
	rest = value;
	for (uint32_t i = 0; i < l->count; i++)
		if (v[i].is_flag && v[i].value && ((uint64_t)v[i].value & ~value & mask) == 0)
			rest &= ~(uint64_t)v[i].value;
	if (rest == value) { /* no known flag is set */
		print_u64(d->out, value);
		return;
	}
	const char *bar = "";
	putc_unlocked('"', d->out);
	for (uint32_t i = 0; i < l->count; i++)
		if (v[i].is_flag && v[i].value && ((uint64_t)v[i].value & ~value & mask) == 0) {
			struct string_ref name = string_table_get(strings, v[i].name);
			fputs_unlocked(bar, d->out);
			print_json_part(d->out, name.text, name.bytes);
			bar = "|";
		}
	if (rest)
		fprintf(d->out, "|0x%llx", (unsigned long long)rest);
	putc_unlocked('"', d->out);
}

/* Find the payload of the event that contains an address. */
static bool address_find(struct decode *d, uint64_t address, struct location *ret_at)
{
	for (uint32_t i = 0; i < d->blob_count; i++) {
		const struct blob *b = &d->blobs[i];
		if (b->address && address >= b->address && address - b->address < b->bytes) {
			*ret_at = (struct location){b, 0, address - b->address};
			return true;
		}
	}
	return false;
}

/* Print a text; while a message is being collected, write it there unescaped. */
static void text_print(struct decode *d, uint64_t type, const uint8_t *at, uint64_t bytes)
{
	if (d->notes && d->notes->in_message)
		nvtx_text_write(d->notes->message, type, at, bytes);
	else
		nvtx_text_print(d->out, type, at, bytes);
}

/* Print the text of a pointer or handle, which the tracer has copied; else the address. */
static void far_text_print(struct decode *d, uint64_t type, uint64_t address)
{
	uint32_t id = nvtx_far_text(d->p, d->ref.process, d->ref.payload, address);
	struct string_ref text = string_table_get(&d->p->contents->strings, id);
	d->values += text.bytes / VALUE_BYTES;
	if (id)
		text_print(d, type, (const uint8_t *)text.text, text.bytes);
	else if (address)
		fprintf(d->out, "\"0x%llx\"", (unsigned long long)address);
	else
		fputs("null", d->out);
}

void decode_element(struct decode *d, uint64_t type, const struct location *at, uint64_t member)
{
	const struct nvtx_layout_row *l = decode_layout(d, type);
	d->values++;
	if (decode_spent(d) || d->depth >= NVTX_DECODE_DEPTH_MAX) {
		fputs("null", d->out);
	} else if (l && l->is_enum) {
		enum_print(d, l, at);
	} else if (l) {
		d->depth++;
		decode_fields(d, l, at, member);
		d->depth--;
	} else if (type == NVTX_TYPE_STRING_HANDLE && location_left(at) >= 8) {
		far_text_print(d, NVTX_TYPE_UTF8, nvtx_unsigned(location_bytes(at), 8));
	} else {
		nvtx_value_print(d->out, type, location_bytes(at), location_left(at));
	}
}

/* ---- arrays ---- */

/* Print the rows of a dimension, each with the dimensions inside it. */
static void rows_print(struct decode *d, uint64_t type, struct location *at, uint64_t step,
	const struct dimensions *n, uint32_t dimension)
{
	d->values++; /* bounds the work for empty rows, which print no value */
	putc_unlocked('[', d->out);
	for (uint64_t i = 0; i < n->length[dimension] && location_left(at) >= (step ? step : 1) &&
		!decode_spent(d);
		i++) {
		if (i)
			putc_unlocked(',', d->out);
		if (dimension + 1 < n->count) {
			rows_print(d, type, at, step, n, dimension + 1);
		} else {
			decode_element(d, type, at, UINT64_MAX);
			at->at += step;
		}
	}
	putc_unlocked(']', d->out);
}

void decode_array(
	struct decode *d, uint64_t type, const struct location *at, const struct dimensions *n)
{
	struct nvtx_extent element = decode_extent(d, type);
	struct location moving = *at;
	uint64_t length = n->count ? n->length[0] : 0;
	bool is_string =
		nvtx_type_is_text(type) || nvtx_is_character(type) || type == NVTX_TYPE_BYTE;
	d->values += 1 + (is_string ? location_left(at) / VALUE_BYTES : 0);
	if (!element.bytes || element.bytes == NVTX_BYTES_UNKNOWN) {
		fputs("null", d->out);
	} else if (n->count == 1 && (nvtx_type_is_text(type) || nvtx_is_character(type))) {
		uint64_t most = location_left(at) / element.bytes;
		text_print(d, type, location_bytes(at),
			(length < most ? length : most) * element.bytes);
	} else if (n->count == 1 && type == NVTX_TYPE_BYTE) {
		print_bytes(d->out, (const char *)location_bytes(at),
			length < location_left(at) ? length : location_left(at));
	} else {
		rows_print(d, type, &moving, element.bytes, n, 0);
	}
}

/* Count the elements before the first that is all 0. */
static uint64_t terminated_length(struct decode *d, const struct location *at, uint64_t step)
{
	uint64_t n = 0, most = step ? location_left(at) / step : 0;
	for (; n < most; n++) {
		const uint8_t *element = location_bytes(at) + n * step;
		uint64_t i = 0;
		while (i < step && !element[i])
			i++;
		if (i == step)
			break;
	}
	d->values += n * step / VALUE_BYTES;
	return n;
}

/* ---- entries ---- */

/* The entries of a layout that have been visited: later entries refer to them for lengths and
 * selectors. */
struct scope {
	const struct nvtx_layout_row *layout;
	const struct nvtx_entry_row *entries;
	uint64_t *begins;
	uint32_t known;
};

/* Read the integer or integers of an entry that has been visited. */
static void lengths_of_entry(struct decode *d, const struct scope *s, const struct location *base,
	uint64_t index, struct dimensions *ret)
{
	ret->count = 0;
	if (index >= s->known)
		return;
	const struct nvtx_entry_row *e = &s->entries[index];
	struct location at = {base->blob, base->base, s->begins[index]};
	uint64_t step = decode_extent(d, e->type).bytes, count = 1;
	if ((e->flags & NVTX_ENTRY_ARRAY) == NVTX_ARRAY_FIXED)
		count = e->detail;
	else if ((e->flags & NVTX_ENTRY_ARRAY) == NVTX_ARRAY_TERMINATED)
		count = terminated_length(d, &at, step);
	for (uint64_t i = 0; i < count && ret->count < DIMENSIONS_MAX; i++, at.at += step)
		if (location_left(&at) >= step)
			ret->length[ret->count++] =
				nvtx_length(e->type, location_bytes(&at), (uint32_t)step);
}

static void lengths_of_payload(struct decode *d, uint64_t index, struct dimensions *ret)
{
	ret->count = 0;
	for (uint32_t i = 0; i < d->blob_count; i++) {
		const struct blob *b = &d->blobs[i];
		uint64_t type = b->schema;
		const struct nvtx_layout_row *l = decode_layout(d, type);
		if (b->index != index)
			continue;
		if (l && !l->is_enum && l->count)
			type = entries_of(d, l)->type;
		uint64_t step = nvtx_type_extent(type).bytes;
		for (uint64_t at = 0; step && b->bytes - at >= step && ret->count < DIMENSIONS_MAX;
			at += step)
			ret->length[ret->count++] = nvtx_length(type, b->data + at, (uint32_t)step);
		return;
	}
}

/* Return the length of an array in each dimension. */
static struct dimensions lengths_find(struct decode *d, const struct scope *s,
	const struct nvtx_entry_row *e, const struct location *base, const struct location *at)
{
	struct dimensions n = {.count = 1};
	switch (e->flags & NVTX_ENTRY_ARRAY) {
	case 0: /* a text */
	case NVTX_ARRAY_FIXED:
		n.length[0] = e->detail;
		break;
	case NVTX_ARRAY_TERMINATED:
		n.length[0] = terminated_length(d, at, decode_extent(d, e->type).bytes);
		break;
	case NVTX_ARRAY_LENGTH_ENTRY:
		lengths_of_entry(d, s, base, e->detail, &n);
		break;
	case NVTX_ARRAY_LENGTH_PAYLOAD:
		lengths_of_payload(d, e->detail, &n);
		break;
	default:
		n.count = 0;
	}
	return n;
}

/* Return the size of an array; may exceed the payload. */
static uint64_t array_bytes(const struct dimensions *n, uint64_t step)
{
	uint64_t bytes = step;
	for (uint32_t i = 0; i < n->count; i++)
		if (__builtin_mul_overflow(bytes, n->length[i], &bytes))
			return UINT32_MAX;
	return n->count ? bytes : 0;
}

/* Find the value of an entry that is stored elsewhere. Returns false if it is not in these
 * payloads. */
static bool elsewhere_find(struct decode *d, const struct nvtx_entry_row *e,
	const struct location *at, uint64_t word, struct location *ret_at)
{
	bool is_batch = d->ref.use == NVTX_USE_EVENT_BATCH && d->blob_count > 1;
	if (e->flags & NVTX_ENTRY_POINTER)
		return address_find(d, word, ret_at);
	if (e->flags & NVTX_ENTRY_FROM_BASE && is_batch)
		*ret_at = (struct location){&d->blobs[1], 0, word - d->ref.flex_offset};
	else if (e->flags & NVTX_ENTRY_FROM_BASE)
		*ret_at = (struct location){at->blob, at->base, at->base + word};
	else
		*ret_at = (struct location){at->blob, at->base, at->at + sizeof(word) + word};
	return location_left(ret_at) > 0;
}

/* Print entry number `index`, which begins at `at`. Returns its size there. */
static uint64_t entry_print(
	struct decode *d, const struct scope *s, uint32_t index, const struct location *at)
{
	const struct nvtx_entry_row *e = &s->entries[index];
	struct nvtx_extent element = decode_extent(d, e->type),
			   own = nvtx_entry_extent(e->flags, e->type, e->detail, element);
	struct location value = *at;
	bool is_text_pointer = nvtx_entry_is_text_pointer(e->flags, e->type, e->detail);
	struct nvtx_entry_row plain = *e;
	if (location_left(at) == 0 ||
		(own.bytes != NVTX_BYTES_UNKNOWN && location_left(at) < own.bytes &&
			!(e->flags & NVTX_ENTRY_ARRAY) && own.bytes <= 16)) {
		d->values++;
		fputs("null", d->out);
		return own.bytes != NVTX_BYTES_UNKNOWN ? own.bytes : 0;
	}
	if (e->flags & NVTX_ENTRY_ELSEWHERE || is_text_pointer) {
		uint64_t word = location_left(at) >= 8 ? nvtx_unsigned(location_bytes(at), 8) : 0;
		if (is_text_pointer) {
			plain.flags |= NVTX_ENTRY_POINTER | NVTX_ARRAY_TERMINATED;
			e = &plain;
		}
		if (!elsewhere_find(d, e, at, word, &value)) {
			d->values++;
			far_text_print(d, e->type, word);
			return own.bytes;
		}
	}
	if (!(e->flags & NVTX_ENTRY_ARRAY) && !nvtx_type_is_text(e->type)) {
		struct dimensions selected = {.count = 0};
		const struct nvtx_layout_row *l = decode_layout(d, e->type);
		if (l && l->layout == NVTX_LAYOUT_UNION)
			lengths_of_entry(d, s, at, e->detail, &selected);
		if (l && !l->is_enum && own.bytes == NVTX_BYTES_UNKNOWN &&
			d->depth < NVTX_DECODE_DEPTH_MAX && !decode_spent(d)) {
			d->depth++;
			own.bytes = decode_fields(d, l, &value, 0);
			d->depth--;
		} else {
			decode_element(d, e->type, &value,
				selected.count ? selected.length[0] : UINT64_MAX);
		}
		return own.bytes == NVTX_BYTES_UNKNOWN ? 0 : own.bytes;
	}
	struct dimensions n = lengths_find(d, s, e, at, &value);
	decode_array(d, e->type, &value, &n);
	if (own.bytes != NVTX_BYTES_UNKNOWN)
		return own.bytes;
	if ((e->flags & NVTX_ENTRY_ARRAY) == NVTX_ARRAY_TERMINATED && n.count)
		n.length[0]++; /* include the terminator */
	return array_bytes(&n, element.bytes == NVTX_BYTES_UNKNOWN ? 0 : element.bytes);
}

/* Pass an entry to d->notes instead of printing it. Returns its size. */
static uint64_t entry_note(
	struct decode *d, const struct scope *s, uint32_t index, const struct location *at)
{
	const struct nvtx_entry_row *e = &s->entries[index];
	struct nvtx_extent own = entry_extent(d, e);
	struct decode_notes *notes = d->notes;
	d->values++;
	if (e->flags & NVTX_ENTRY_MESSAGE && !notes->has_message) {
		notes->in_message = notes->has_message = true;
		entry_print(d, s, index, at);
		notes->in_message = false;
	} else {
		notes->entry(notes->user, d->depth, s->layout, e, index, at);
	}
	bool is_passed = own.bytes != NVTX_BYTES_UNKNOWN && e->type < NVTX_TYPES_END;
	return is_passed ? own.bytes : entry_print(d, s, index, at);
}

static void name_print(struct decode *d, const struct nvtx_entry_row *e, uint32_t index)
{
	struct string_ref name = string_table_get(&d->p->contents->strings, e->name);
	d->values += name.bytes / VALUE_BYTES;
	if (name.bytes)
		print_json(d->out, name.text,
			name.bytes < NAME_BYTES_MAX ? name.bytes : NAME_BYTES_MAX);
	else
		fprintf(d->out, "\"%u\"", index);
	putc_unlocked(':', d->out);
}

/* ---- layouts ---- */

static void union_print(struct decode *d, const struct nvtx_layout_row *l,
	const struct location *at, uint64_t member)
{
	const struct scope none = {.layout = l, .entries = entries_of(d, l)};
	uint32_t selector = UINT32_MAX;
	for (uint32_t i = 0; i < l->count && selector == UINT32_MAX; i++)
		if (none.entries[i].type == NVTX_TYPE_SELECTOR)
			selector = i;
	d->values += l->count / VALUE_ROWS;
	if (l->layout == NVTX_LAYOUT_UNION_SELECTED && selector != UINT32_MAX) {
		struct location own = {at->blob, at->base, at->at + member_begin(d, l, selector)};
		member = location_left(&own) ? *location_bytes(&own) : UINT64_MAX;
	}
	putc_unlocked('{', d->out);
	if (member < l->count && member != selector) {
		struct location value = {
			at->blob, at->base, at->at + member_begin(d, l, (uint32_t)member)};
		name_print(d, &none.entries[member], (uint32_t)member);
		entry_print(d, &none, (uint32_t)member, &value);
	}
	putc_unlocked('}', d->out);
}

uint64_t decode_fields(struct decode *d, const struct nvtx_layout_row *l, const struct location *at,
	uint64_t member)
{
	struct scope s = {.layout = l, .entries = entries_of(d, l)};
	uint64_t end = 0;
	if (is_union(l)) {
		union_print(d, l, at, member);
		return l->extent.bytes;
	}
	s.begins = calloc(l->count + 1, sizeof(*s.begins));
	putc_unlocked('{', d->out);
	for (uint32_t i = 0; i < l->count && s.begins && !decode_spent(d); i++) {
		const struct nvtx_entry_row *e = &s.entries[i];
		uint64_t begin =
			nvtx_entry_begin(i, e->offset, end, entry_extent(d, e).align, l->pack);
		uint64_t offset = begin < UINT32_MAX ? at->at + begin : UINT64_MAX;
		const struct location value = {at->blob, at->base, offset};
		if (i)
			putc_unlocked(',', d->out);
		name_print(d, e, i);
		uint64_t bytes =
			d->notes ? entry_note(d, &s, i, &value) : entry_print(d, &s, i, &value);
		end = bytes < UINT32_MAX && begin < UINT32_MAX ? begin + bytes : UINT32_MAX;
		s.begins[i] = offset;
		s.known = i + 1;
	}
	putc_unlocked('}', d->out);
	free(s.begins);
	return end;
}
