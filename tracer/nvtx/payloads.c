/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payloads.c - extended payloads: their bytes, the texts that they refer to, and the events that
 * consist of them alone.
 */
#define _GNU_SOURCE
#include "common/clock.h"
#include "common/sys.h"
#include "tracer/nvtx/extensions.h"
#include "tracer/nvtx/handles.h"
#include "tracer/nvtx/text.h"
#include "tracer/nvtx/record.h"
#include "tracer/nvtx/schemas.h"

#define SCHEMA_ENTRIES_MAX 4096u
#define PAGE_BYTES 4096u
#define RECORDED_MAX 64u

/* The payloads of one call. */
struct payloads {
	struct name *domain;
	const struct nvtx_data *data;
	uint64_t count, id;
	uint64_t *recorded; /* addresses of a batch's texts that were recorded last; NULL = no batch
			     */
};

/* ---- texts that a payload points to ---- */

/* Return the length in bytes of a text that ends with a zero unit, at most NAME_BYTES_MAX. A text
 * that runs into unreadable memory ends there; NVTX_BYTES_UNKNOWN if not even its first unit can be
 * read. */
static uint64_t far_text_bytes(uint64_t address, uint32_t unit)
{
	uint64_t checked = 0;
	for (uint64_t bytes = 0; bytes + unit <= NAME_BYTES_MAX; bytes += unit) {
		uint64_t end = address + bytes + unit;
		if (end > checked) {
			if (!ext_readable(address + bytes, unit))
				return bytes ? bytes : NVTX_BYTES_UNKNOWN;
			checked = (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		}
		const char *at = (const char *)(uintptr_t)(address + bytes);
		char any = 0;
		for (uint32_t i = 0; i < unit; i++)
			any |= at[i];
		if (!any)
			return bytes;
	}
	return NAME_BYTES_MAX / unit * unit;
}

static bool is_within(const struct payloads *p, uint64_t address)
{
	for (uint64_t i = 0; i < p->count; i++) {
		uint64_t begin = (uint64_t)(uintptr_t)p->data[i].data;
		if (address >= begin && address - begin < p->data[i].bytes)
			return true;
	}
	return false;
}

/* Return the 8 bytes at an offset; 0 if the payload is shorter. */
static uint64_t word_at(const struct nvtx_data *d, uint64_t offset)
{
	typedef uint64_t word __attribute__((may_alias, aligned(1)));
	if (!d->data || d->bytes == NVTX_BYTES_UNKNOWN || d->bytes < sizeof(uint64_t) ||
		offset > d->bytes - sizeof(uint64_t))
		return 0;
	return *(const word *)(const void *)((const char *)d->data + offset);
}

static uint32_t half_at(const struct nvtx_data *d, uint64_t offset)
{
	typedef uint32_t half __attribute__((may_alias, aligned(1)));
	if (!d->data || d->bytes == NVTX_BYTES_UNKNOWN || d->bytes < sizeof(uint32_t) ||
		offset > d->bytes - sizeof(uint32_t))
		return 0;
	return *(const half *)(const void *)((const char *)d->data + offset);
}

static bool is_recorded(struct payloads *p, uint64_t address)
{
	if (!p->recorded)
		return false;
	uint64_t *place = &p->recorded[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
	bool recorded = *place == address;
	*place = address;
	return recorded;
}
_Static_assert(RECORDED_MAX == 64, "six bits of the hash");

static void text_put(const struct payloads *p, uint64_t address, const struct ext_text *text)
{
	ext_put(&(struct ext_row){.event = EXT_NVTX_PAYLOAD_TEXT,
		.domain = p->domain,
		EXT_NUMBERS(p->id, address),
		.texts = {*text},
		.text_count = 1});
}

/* Return the text; a long one becomes a name, or is cut to the size that fits in a record. */
static struct ext_text far_text(const char *bytes, uint32_t length)
{
	if (length <= NVTX_TEXT_BYTES)
		return (struct ext_text){.bytes = bytes, .length = length};
	return (struct ext_text){.bytes = bytes,
		.length = NVTX_TEXT_BYTES,
		.name = nvtx_bytes_name(bytes, length, length > NAME_BYTES_MAX - 4)};
}

/* Record the texts of the value that begins at `begin`. */
static void texts_put(
	struct payloads *p, const struct nvtx_data *d, const struct schema *s, uint64_t begin)
{
	for (uint32_t i = 0; i < s->place_count; i++) {
		const struct schema_place *place = &s->places[i];
		uint64_t address = 0;
		struct ext_text text = {0};
		if (place->type == NVTX_TYPE_STRING_HANDLE) {
			address = word_at(d, begin + place->offset);
			text.name = is_recorded(p, address) ? NULL : handles_name(address);
			if (text.name)
				text_put(p, address, &text);
		} else if (place->is_pointer) {
			address = word_at(d, begin + place->offset);
			if (!address || is_within(p, address) || is_recorded(p, address))
				continue;
			uint64_t bytes = far_text_bytes(
				address, (uint32_t)nvtx_type_extent(place->type).bytes);
			if (bytes == NVTX_BYTES_UNKNOWN)
				continue;
			text = far_text((const char *)(uintptr_t)address, (uint32_t)bytes);
			text_put(p, address, &text);
		}
	}
}

/* ---- bytes ---- */

static void piece_put(const struct payloads *p, const struct nvtx_data *d, uint64_t index,
	uint64_t offset, uint32_t bytes, uint64_t flags)
{
	const char *at = d->data;
	ext_put(&(struct ext_row){.event = EXT_NVTX_PAYLOAD,
		.domain = p->domain,
		EXT_NUMBERS(
			p->id, index, d->schema, (uint64_t)(uintptr_t)at, d->bytes, offset, flags),
		.texts = {{.bytes = at ? at + offset : NULL, .length = bytes}},
		.text_count = 1});
}

/* Return the number of bytes to copy, at most NVTX_PAYLOAD_BYTES_MAX. */
static uint64_t data_bytes(const struct nvtx_data *d)
{
	if (!d->data)
		return 0;
	if (d->bytes == NVTX_BYTES_UNKNOWN && nvtx_type_is_text(d->schema)) {
		uint32_t unit = (uint32_t)nvtx_type_extent(d->schema).bytes;
		uint64_t bytes = far_text_bytes((uint64_t)(uintptr_t)d->data, unit);
		return bytes == NVTX_BYTES_UNKNOWN ? 0 : bytes;
	}
	if (d->bytes == NVTX_BYTES_UNKNOWN)
		return 0;
	return d->bytes < NVTX_PAYLOAD_BYTES_MAX ? d->bytes : NVTX_PAYLOAD_BYTES_MAX;
}

/* Record the bytes of a payload. If they need several records, the kernel is asked whether they are
 * readable: a wrong size must not crash the program. */
static void data_put(const struct payloads *p, const struct nvtx_data *d, uint64_t index)
{
	uint64_t bytes = data_bytes(d), offset = 0;
	bool is_all = bytes == d->bytes ||
		(d->bytes == NVTX_BYTES_UNKNOWN && bytes && bytes < NAME_BYTES_MAX - 4);
	do {
		uint64_t left = bytes - offset;
		uint32_t piece = (uint32_t)(left < NVTX_PIECE_BYTES ? left : NVTX_PIECE_BYTES);
		if (bytes > NVTX_PIECE_BYTES &&
			!ext_readable((uint64_t)(uintptr_t)d->data + offset, piece)) {
			piece = 0;
			is_all = false;
			bytes = offset;
		}
		bool is_last = offset + piece >= bytes;
		piece_put(p, d, index, offset, piece, is_last && !is_all ? RECORD_PAYLOAD_CUT : 0);
		offset += piece;
	} while (offset < bytes);
}

/* Record the texts of a payload. For a batch, which has values of one size, record the texts of
 * each value. */
static void all_texts_put(
	struct payloads *p, const struct nvtx_data *d, const struct schema *s, bool is_batch)
{
	uint64_t step = s->extent.bytes;
	texts_put(p, d, s, 0);
	if (!is_batch || !step || step >= NVTX_PAYLOAD_BYTES_MAX || d->bytes == NVTX_BYTES_UNKNOWN)
		return;
	for (uint64_t at = step; at < d->bytes && at < NVTX_PAYLOAD_BYTES_MAX; at += step)
		texts_put(p, d, s, at);
}

static uint64_t payloads_put(struct payloads *p, uint64_t first_index)
{
	static uint64_t last;
	if (!p->data || !p->count || !ext_is_on(p->domain))
		return 0;
	if (p->count > NVTX_PAYLOADS_MAX)
		p->count = NVTX_PAYLOADS_MAX;
	if (!p->id)
		p->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	for (uint64_t i = 0; i < p->count; i++) {
		const struct schema *s = p->data[i].schema >= NVTX_ID_STATIC
			? schemas_find(p->domain, p->data[i].schema)
			: NULL;
		data_put(p, &p->data[i], first_index + i);
		if (s && s->place_count)
			all_texts_put(p, &p->data[i], s, p->recorded && !i);
	}
	return p->id;
}

uint64_t nvtx_payload_put(struct name *domain, const struct nvtx_data *data, uint64_t count,
	uint64_t id, uint64_t first_index)
{
	struct payloads p = {.domain = domain, .data = data, .count = count, .id = id};
	return payloads_put(&p, first_index);
}

/* ---- layouts ---- */

uint64_t nvtx_schema_register(struct name *domain, const struct nvtx_schema_attributes *a)
{
	struct nvtx_schema_attributes known;
	if (!a)
		return 0;
	known = (struct nvtx_schema_attributes){.mask = a->mask};
	if (a->mask & NVTX_SCHEMA_HAS_NAME)
		known.name = a->name;
	if (a->mask & NVTX_SCHEMA_HAS_TYPE)
		known.layout = a->layout;
	if (a->mask & NVTX_SCHEMA_HAS_FLAGS)
		known.flags = a->flags;
	if (a->mask & NVTX_SCHEMA_HAS_ENTRIES)
		known.entries = a->entries;
	if (a->mask & NVTX_SCHEMA_HAS_COUNT && known.entries)
		known.entry_count =
			a->entry_count < SCHEMA_ENTRIES_MAX ? a->entry_count : SCHEMA_ENTRIES_MAX;
	if (a->mask & NVTX_SCHEMA_HAS_SIZE)
		known.static_bytes = a->static_bytes;
	if (a->mask & NVTX_SCHEMA_HAS_ALIGNMENT)
		known.pack_bytes = a->pack_bytes;
	if (!known.layout || !known.entry_count)
		return 0;
	uint64_t id = ext_id((a->mask & NVTX_SCHEMA_HAS_ID) != 0, a->id);
	ext_put(&(struct ext_row){.event = EXT_NVTX_SCHEMA,
		.domain = domain,
		EXT_NUMBERS(id, known.layout, known.flags, known.static_bytes, known.pack_bytes,
			known.entry_count),
		.texts = {ext_chars(known.name)},
		.text_count = 1});
	for (uint64_t i = 0; i < known.entry_count; i++) {
		const struct nvtx_schema_entry *e = &known.entries[i];
		ext_put(&(struct ext_row){.event = EXT_NVTX_SCHEMA_ENTRY,
			.domain = domain,
			EXT_NUMBERS(id, i, e->type, e->flags, e->detail, e->offset),
			.texts = {ext_chars(e->name), ext_chars(e->description)},
			.text_count = 2});
		ext_semantics(domain, 0, id, i, e->semantics);
	}
	struct thread *t = event_enter();
	if (t) {
		schemas_add(domain, id, &known);
		thread_leave(t);
	}
	return id;
}

uint64_t nvtx_enum_register(struct name *domain, const struct nvtx_enum_attributes *a)
{
	const uint64_t needed = NVTX_ENUM_HAS_ENTRIES | NVTX_ENUM_HAS_COUNT;
	if (!a || (a->mask & needed) != needed || !a->values)
		return 0;
	uint64_t id = ext_id((a->mask & NVTX_ENUM_HAS_ID) != 0, a->id);
	uint64_t bytes = a->mask & NVTX_ENUM_HAS_SIZE ? a->value_bytes : 0;
	uint64_t count = a->value_count < SCHEMA_ENTRIES_MAX ? a->value_count : SCHEMA_ENTRIES_MAX;
	for (uint64_t i = 0; i < count; i++) {
		const struct nvtx_enum_value *v = &a->values[i];
		ext_put(&(struct ext_row){.event = EXT_NVTX_ENUM,
			.domain = domain,
			EXT_NUMBERS(id, bytes, i, v->value, v->is_flag != 0),
			.texts = {ext_chars(a->mask & NVTX_ENUM_HAS_NAME ? a->name : NULL),
				ext_chars(v->name)},
			.text_count = 2});
	}
	struct thread *t = event_enter();
	if (t) {
		schemas_add_enum(domain, id, bytes);
		thread_leave(t);
	}
	return id;
}

/* ---- events that consist of payloads ---- */

/* Attributes of an event, taken from its payloads: a later payload overrides an earlier one. */
struct attributes {
	struct nvtx_ending ending;
	struct nvtx_event text; /* the message */
	char room[EXT_ROOM_BYTES];
};

/* `count` units of text in memory. */
struct units {
	const char *at;
	uint64_t count;
	uint32_t bytes; /* bytes of one unit */
};

/* Convert UTF-16 or UTF-32 up to a unit of 0. Return the bytes of the UTF-8 text, at most
 * `most`. */
static uint32_t units_copy(char *to, const struct units *from, uint32_t most, bool *ret_cut)
{
	typedef uint16_t half __attribute__((may_alias, aligned(1)));
	typedef uint32_t word __attribute__((may_alias, aligned(1)));
	const half *halves = (const half *)(const void *)from->at;
	const word *words = (const word *)(const void *)from->at;
	uint32_t bytes = 0;
	*ret_cut = false;
	for (uint64_t i = 0; i < from->count; i++) {
		uint32_t c = from->bytes == 2 ? halves[i] : words[i];
		bool is_pair = from->bytes == 2 && c >> 10 == 0xd800 >> 10 && i + 1 < from->count &&
			halves[i + 1] >> 10 == 0xdc00 >> 10;
		if (is_pair)
			c = 0x10000 + ((c & 0x3ff) << 10 | (halves[++i] & 0x3ff));
		uint32_t end = c ? nvtx_character_put(to, bytes, c, most) : 0;
		*ret_cut = c && !end;
		if (!end)
			break;
		bytes = end;
	}
	return bytes;
}

/* Return the bytes up to a 0, at most `most`. */
static uint32_t chars_length(const struct units *from, uint32_t most, bool *ret_cut)
{
	uint32_t n = 0;
	while (n < from->count && n < most && from->at[n])
		n++;
	*ret_cut = n == most && n < from->count && from->at[n];
	return *ret_cut ? nvtx_cut_length(from->at, most) : n;
}

/* Return a text that is too long for an event as a name; NULL = no room for more such names. */
static __attribute__((cold, noinline)) struct name *message_whole(const struct units *from)
{
	bool is_cut = false;
	if (from->bytes == 1) {
		uint32_t n = chars_length(from, NAME_BYTES_MAX, &is_cut);
		return nvtx_bytes_name(from->at, n, is_cut);
	}
	char *copy = sys_mmap_private(NAME_BYTES_MAX);
	if (!copy)
		return NULL;
	uint32_t n = units_copy(copy, from, NAME_BYTES_MAX, &is_cut);
	struct name *name = nvtx_bytes_name(copy, n, is_cut);
	sys_munmap(copy, NAME_BYTES_MAX);
	return name;
}

static void message_take(struct attributes *a, const struct units *from)
{
	bool is_cut;
	uint32_t n;
	if (from->bytes == 1) {
		n = chars_length(from, NVTX_TEXT_BYTES, &is_cut);
		for (uint32_t i = 0; i < n; i++)
			a->room[i] = from->at[i];
	} else {
		n = units_copy(a->room, from, NVTX_TEXT_BYTES, &is_cut);
	}
	struct name *whole = is_cut ? message_whole(from) : NULL;
	a->room[n] = 0;
	a->text = (struct nvtx_event){.kind = NVTX_TEXT_CHARS, .text = a->room};
	if (whole)
		a->text = (struct nvtx_event){.kind = NVTX_TEXT_NAME, .text = whole};
}

/* Copy a message that is in the payload itself. */
static void message_copy(
	struct attributes *a, const struct nvtx_data *d, const struct schema_place *place)
{
	struct units from = {.at = (const char *)d->data + place->offset,
		.bytes = (uint32_t)nvtx_type_extent(place->type).bytes};
	if (d->bytes > place->offset && d->bytes != NVTX_BYTES_UNKNOWN)
		from.count = (d->bytes - place->offset) / from.bytes;
	if (place->units && place->units < from.count)
		from.count = place->units;
	message_take(a, &from);
}

static void message_find(
	struct attributes *a, const struct nvtx_data *d, const struct schema_place *place)
{
	uint64_t address = word_at(d, place->offset);
	if (place->type == NVTX_TYPE_STRING_HANDLE) {
		struct name *name = handles_name(address);
		if (name)
			a->text = (struct nvtx_event){.kind = NVTX_TEXT_NAME, .text = name};
	} else if (!place->is_pointer) {
		message_copy(a, d, place);
	} else {
		uint32_t unit = (uint32_t)nvtx_type_extent(place->type).bytes;
		uint64_t bytes = address ? far_text_bytes(address, unit) : NVTX_BYTES_UNKNOWN;
		if (bytes == NVTX_BYTES_UNKNOWN)
			return;
		message_take(
			a, &(struct units){(const char *)(uintptr_t)address, bytes / unit, unit});
	}
}

static void attributes_find(
	struct attributes *a, struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	a->ending = (struct nvtx_ending){0};
	a->text = (struct nvtx_event){.kind = NVTX_TEXT_NONE};
	for (uint64_t i = 0; data && i < count && i < NVTX_PAYLOADS_MAX; i++) {
		const struct schema *s = data[i].schema >= NVTX_ID_STATIC
			? schemas_find(domain, data[i].schema)
			: NULL;
		for (uint32_t n = 0; s && data[i].data && n < s->place_count; n++) {
			const struct schema_place *place = &s->places[n];
			if (place->type == NVTX_TYPE_CATEGORY) {
				a->ending.has_category = true;
				a->ending.category = half_at(&data[i], place->offset);
			} else if (place->type == NVTX_TYPE_COLOR) {
				a->ending.has_color = true;
				a->ending.color = half_at(&data[i], place->offset);
			} else if (place->is_message) {
				message_find(a, &data[i], place);
			}
		}
	}
}

/* Fill the event that consists of `count` payloads. */
static void event_make(
	struct attributes *a, struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	attributes_find(a, domain, data, count);
	uint64_t id = nvtx_payload_put(domain, data, count, 0, 0);
	a->text.has_attributes = true;
	a->text.attributes = (struct nvtx_attributes){.category = a->ending.category,
		.color = a->ending.color,
		.payload_type = id ? NVTX_VALUE_EXTENDED : NVTX_VALUE_NONE,
		.payload = id};
}

struct name *nvtx_payload_message(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	attributes_find(&a, domain, data, count);
	return nvtx_message_name(a.text.kind, a.text.text);
}

void nvtx_payload_mark(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	if (!ext_is_on(domain))
		return;
	event_make(&a, domain, data, count);
	nvtx_mark(domain, &a.text);
}

void nvtx_payload_mark_named(struct name *domain, struct name *text, const struct nvtx_data *data)
{
	struct attributes a;
	if (!ext_is_on(domain))
		return;
	event_make(&a, domain, data, 1);
	a.text.kind = NVTX_TEXT_NAME;
	a.text.text = text;
	nvtx_mark(domain, &a.text);
}

int nvtx_payload_push(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	event_make(&a, domain, data, count);
	return nvtx_push(domain, &a.text);
}

uint64_t nvtx_payload_start(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	event_make(&a, domain, data, count);
	return nvtx_start(domain, &a.text);
}

/* Fill the attributes of an end. Its payloads are numbered after all payloads that a start can
 * have. */
static void ending_make(struct attributes *a, struct name *domain, const struct nvtx_data *data,
	uint64_t count, uint64_t id)
{
	attributes_find(a, domain, data, count);
	a->ending.payload = nvtx_payload_put(domain, data, count, id, NVTX_PAYLOADS_MAX);
	if (a->text.kind != NVTX_TEXT_NONE)
		a->ending.text = nvtx_message_name(a->text.kind, a->text.text);
}

int nvtx_payload_pop(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	uint64_t tick = clock_ticks();
	ending_make(&a, domain, data, count, nvtx_pop_payload(domain));
	a.ending.tick = tick;
	return nvtx_pop_with(domain, &a.ending);
}

void nvtx_payload_end(
	struct name *domain, uint64_t id, const struct nvtx_data *data, uint64_t count)
{
	struct attributes a;
	uint64_t tick = clock_ticks();
	ending_make(&a, domain, data, count, nvtx_end_payload(id));
	a.ending.tick = tick;
	nvtx_end_with(id, &a.ending);
}

/* ---- deferred events ---- */

void nvtx_event_submit(struct name *domain, const struct nvtx_data *data, uint64_t count)
{
	uint64_t id = nvtx_payload_put(domain, data, count, 0, 0);
	if (!id)
		return;
	nvtx_clocks_sync();
	ext_put(&(struct ext_row){.event = EXT_NVTX_DEFERRED,
		.domain = domain,
		EXT_NUMBERS(NVTX_VALUE_EXTENDED, id, 0, 0, 0, 0)});
}

void nvtx_event_batch_submit(struct name *domain, const struct nvtx_event_batch *batch)
{
	if (!batch)
		return;
	const struct nvtx_data data[] = {{batch->schema, batch->bytes, batch->events},
		{NVTX_TYPE_REFERENCED, batch->flex_bytes,
			batch->flex ? (const char *)batch->flex + batch->flex_offset : NULL}};
	uint64_t recorded[RECORDED_MAX] = {0};
	struct payloads p = {.domain = domain,
		.data = data,
		.count = batch->flex && batch->flex_bytes ? 2 : 1,
		.recorded = recorded};
	if (!payloads_put(&p, 0))
		return;
	nvtx_clocks_sync();
	ext_put(&(struct ext_row){.event = EXT_NVTX_DEFERRED,
		.domain = domain,
		EXT_NUMBERS(NVTX_VALUE_EXTENDED, p.id, 1, batch->scope, batch->flags,
			batch->flex_offset)});
}
