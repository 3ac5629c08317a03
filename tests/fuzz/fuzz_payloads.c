/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_payloads.c - fuzz target for extended NVTX payloads: prints arbitrary bytes by arbitrary
 * layouts, and reads them as deferred events with arbitrary clocks.
 *
 * The input is made of records of 8 bytes, kind first: layouts, entries, enumerations, pieces of
 * payloads, clocks and points of synchronization with small ids, so that they refer to one another;
 * the remaining bytes are the payloads.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "reader/nvtx/clocks.h"
#include "reader/nvtx/decode.h"
#include "reader/nvtx/facts.h"

#define RECORD_BYTES 8u
#define ROWS_MAX 200u

struct input {
	struct nvtx_layout_row layouts[ROWS_MAX];
	struct nvtx_entry_row entries[ROWS_MAX];
	struct nvtx_value_row values[ROWS_MAX];
	struct nvtx_piece pieces[ROWS_MAX];
	struct nvtx_far_text texts[ROWS_MAX];
	struct nvtx_time_domain_row time_domains[ROWS_MAX];
	struct nvtx_sync_row syncs[ROWS_MAX];
};

/* Return a small number (a type or an offset), an id, or a value out of bounds. */
static uint64_t wide(uint8_t byte)
{
	return byte < 128 ? byte : byte < 192 ? NVTX_ID_DYNAMIC + byte % 16 : UINT64_MAX - byte % 8;
}

/* Return a type of clock, or the id of a registered clock. */
static uint64_t clock_id(uint8_t byte)
{
	return byte < 128 ? byte : NVTX_ID_STATIC + byte % 8;
}

static void clock_take(
	struct nvtx_payloads *p, struct input *in, struct nvtx_key key, const uint8_t *r)
{
	key.id = clock_id(r[1]);
	if (r[2] & 1 && p->time_domains.count < ROWS_MAX)
		in->time_domains[p->time_domains.count++] =
			(struct nvtx_time_domain_row){.key = key,
				.clock = clock_id(r[3]),
				.origin = r[4] % 8,
				.ticks_per_second = r[5] < 250 ? r[5] * (int64_t)r[5] : INT64_MIN};
	else if (p->syncs.count < ROWS_MAX)
		in->syncs[p->syncs.count++] = (struct nvtx_sync_row){.key = key,
			.target = clock_id(r[3]),
			.source_time = (int64_t)wide(r[4]),
			.target_time = (int64_t)wide(r[5]),
			.has_slope = r[6] & 1,
			.slope = r[7] < 250 ? r[7] / 16.0 : -1 / 0.0};
}

static void record_take(struct nvtx_payloads *p, struct input *in, const uint8_t *r)
{
	static uint64_t time;
	const struct nvtx_key key = {.process = 1,
		.domain = nvtx_domain_key(p->contents, 0),
		.id = NVTX_ID_DYNAMIC + r[1] % 16,
		.index = r[2] % 8,
		.time_ns = time++};
	switch (r[0] % 9) {
	case 8:
		clock_take(p, in, key, r);
		break;
	case 0:
		if (p->layouts.count < ROWS_MAX) {
			struct nvtx_layout_row *l = &in->layouts[p->layouts.count++];
			*l = (struct nvtx_layout_row){.key = key,
				.layout = r[3] % 6,
				.bytes = wide(r[4]),
				.pack = r[5],
				.flags = r[6]};
			l->key.index = 0;
		}
		break;
	case 1:
		if (p->values.count < ROWS_MAX)
			in->values[p->values.count++] = (struct nvtx_value_row){.key = key,
				.name = r[3] % 4,
				.bytes = r[4] % 10,
				.value = r[5],
				.is_flag = r[6] & 1};
		break;
	case 2:
	case 3:
		if (p->pieces.count < ROWS_MAX)
			in->pieces[p->pieces.count++] = (struct nvtx_piece){
				.key = {.process = 1, .id = 1, .index = r[2] % 8},
				.offset = wide(r[3]),
				.schema = wide(r[4]),
				.address = 0x1000u * (1u + r[2] % 8),
				.data = 1 + r[5] % 3};
		break;
	case 4:
		if (p->texts.count < ROWS_MAX)
			in->texts[p->texts.count++] =
				(struct nvtx_far_text){.key = {.process = 1, .id = 1},
					.address = r[2],
					.text = 1 + r[3] % 3};
		break;
	default:
		if (p->entries.count < ROWS_MAX)
			in->entries[p->entries.count++] = (struct nvtx_entry_row){.key = key,
				.name = r[3] % 4,
				.type = wide(r[4]),
				.flags = (uint64_t)r[5] * 0x101,
				.detail = wide(r[6]),
				.offset = wide(r[7])};
	}
}

static void strings_make(struct string_table *t, const uint8_t *bytes, size_t count)
{
	Libtrace__Strings message = LIBTRACE__STRINGS__INIT;
	uint32_t ids[] = {1, 2, 3};
	uint8_t *data = (uint8_t *)(uintptr_t)bytes;
	ProtobufCBinaryData texts[] = {
		{count, data}, {count / 2, data}, {count - count / 2, data + count / 2}};
	message.n_ids = message.n_texts = 3;
	message.ids = ids;
	message.texts = texts;
	if (string_table_add(t, &message))
		abort();
}

struct timing {
	struct nvtx_clocks clocks;
	uint64_t domain, events, checksum;
};

static int event_time(void *user, uint64_t index, const struct nvtx_event_facts *f)
{
	struct timing *t = user;
	int64_t ns = 0;
	for (uint64_t clock = 0; clock < 64; clock++)
		if (nvtx_clock_ns(&t->clocks, t->domain, clock_id((uint8_t)(clock * 4)),
			    f->begin.ticks, &ns) == NVTX_CLOCK_OK)
			t->checksum ^= (uint64_t)ns;
	for (size_t i = 0; i < f->text_bytes; i++)
		t->checksum ^= (uint8_t)f->text[i];
	t->checksum ^= index;
	return ++t->events > 1000;
}

static void time_all(struct nvtx_payloads *p)
{
	struct timing t = {.domain = nvtx_domain_key(p->contents, 0)};
	nvtx_clocks_init(&t.clocks, p);
	if (nvtx_clocks_seek(&t.clocks, 1))
		abort();
	for (int is_batch = 0; is_batch < 2; is_batch++) {
		const struct nvtx_deferred_row row = {
			.key = {.process = 1, .id = 1}, .is_batch = is_batch != 0};
		uint64_t missing;
		if (nvtx_facts_read(p, &row, event_time, &t, &missing) < 0)
			abort();
	}
	nvtx_clocks_release(&t.clocks);
}

static void print_all(struct nvtx_payloads *p)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		abort();
	for (int use = NVTX_USE_EVENT; use <= NVTX_USE_EVENT_BATCH; use++) {
		const struct nvtx_payload_ref ref = {
			.use = (enum nvtx_payload_use)use, .process = 1, .payload = 1};
		nvtx_payload_print(out, p, &ref);
	}
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct contents contents;
	struct nvtx_payloads payloads;
	struct input *in = calloc(1, sizeof(*in));
	if (!in)
		return 0;
	contents_init(&contents);
	nvtx_payloads_init(&payloads, &contents);
	payloads.layouts.rows = in->layouts;
	payloads.entries.rows = in->entries;
	payloads.values.rows = in->values;
	payloads.pieces.rows = in->pieces;
	payloads.texts.rows = in->texts;
	payloads.time_domains.rows = in->time_domains;
	payloads.syncs.rows = in->syncs;
	payloads.layouts.capacity = ROWS_MAX;
	while (bytes >= RECORD_BYTES && data[0] < 250) {
		record_take(&payloads, in, data);
		data += RECORD_BYTES;
		bytes -= RECORD_BYTES;
	}
	strings_make(&contents.strings, data, bytes);
	/* nvtx_payloads_ready() adds a layout for each enumeration: it reallocates the array. */
	struct nvtx_layout_row *own = malloc(sizeof(in->layouts));
	if (own) {
		memcpy(own, in->layouts, sizeof(in->layouts));
		payloads.layouts.rows = own;
		nvtx_payloads_ready(&payloads);
		print_all(&payloads);
		time_all(&payloads);
		free(payloads.layouts.rows);
	}
	contents_release(&contents);
	free(in);
	return 0;
}
