/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_gpus.c - tests of the numbers of GPUs, for all orders of rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/export/gpus.h"
#include "tests/unit/tap.h"

/* Strings: the UUIDs of four GPUs in their order, as CUPTI gives them and as NVML writes them. */
enum { A = 1, B, C, D, A_BY_NVML, B_BY_NVML, C_BY_NVML, D_BY_NVML, STRINGS = 8 };
enum { ROWS_MAX = 8, PROCESSES = 5 };

static void strings_fill(struct string_table *t)
{
	char texts[STRINGS][48];
	uint32_t ids[STRINGS];
	ProtobufCBinaryData data[STRINGS];
	Libtrace__Strings strings = LIBTRACE__STRINGS__INIT;
	for (uint32_t i = 0; i < STRINGS; i++)
		snprintf(texts[i], sizeof(texts[i]),
			i < 4 ? "%u0010203040506070809aabbccddeeff"
			      : "GPU-%u0010203-0405-0607-0809-AABBCCDDEEFF",
			i % 4);
	for (uint32_t i = 0; i < STRINGS; i++) {
		ids[i] = i + 1;
		data[i] = (ProtobufCBinaryData){strlen(texts[i]), (uint8_t *)texts[i]};
	}
	strings.n_ids = strings.n_texts = STRINGS;
	strings.ids = ids;
	strings.texts = data;
	if (string_table_add(t, &strings))
		exit(1);
}

/* A mention of a GPU: a device of a process, or a sampled one. */
struct row {
	uint32_t process, device, uuid;
	bool is_sampled;
};

/* Enter rows in the order that `permutation` selects, number them, and compare with `numbers`. */
static bool numbered(struct contents *c, const struct row *rows, const uint32_t *numbers,
	uint32_t count, uint32_t permutation)
{
	struct gpus g = {0};
	uint32_t left[ROWS_MAX];
	bool right = true;
	for (uint32_t i = 0; i < count; i++)
		left[i] = i;
	g.mentions = calloc(count, sizeof(*g.mentions));
	if (!g.mentions)
		exit(1);
	g.mention_capacity = count;
	for (uint32_t n = count; n; permutation /= n--) {
		const uint32_t at = permutation % n;
		const struct row *r = &rows[left[at]];
		g.mentions[g.mention_count++] =
			(struct gpu_mention){r->process, r->device, r->uuid, r->is_sampled};
		left[at] = left[n - 1];
	}
	right = !gpus_enter(&g, 0, c) && !gpus_number(&g);
	for (uint32_t i = 0; i < count; i++)
		right = right &&
			(rows[i].is_sampled ||
				gpus_find(&g, rows[i].process, rows[i].device) == numbers[i]);
	right = right && gpus_find(&g, 77, 7) == 7;
	gpus_release(&g);
	return right;
}

static void check_all(struct contents *c, const char *what, const struct row *rows,
	const uint32_t *numbers, uint32_t count)
{
	uint32_t wrong = 0, permutations = 1;
	for (uint32_t n = 2; n <= count; n++)
		permutations *= n;
	for (uint32_t i = 0; i < permutations; i++)
		wrong += !numbered(c, rows, numbers, count, i);
	check(!wrong, "%s: %u of %u orders of rows have other numbers", what, wrong, permutations);
}

#define CHECK(what, numbers, ...)                                                         \
	check_all(&c, what, (const struct row[]){__VA_ARGS__}, (const uint32_t[])numbers, \
		sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))
#define NUMBERS(...)        \
	{                   \
		__VA_ARGS__ \
	}

int main(void)
{
	struct contents c;
	contents_init(&c);
	strings_fill(&c.strings);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		Libtrace__Process facts = LIBTRACE__PROCESS__INIT;
		facts.id = i;
		facts.has_report = true;
		facts.report = i <= 3 ? 1 : 2; /* 4 and 5: of another host */
		if (process_list_add(&c.processes, &facts))
			exit(1);
	}
	CHECK("both processes see both", NUMBERS(0, 1, 0, 1), {1, 0, A, false}, {1, 1, B, false},
		{2, 0, A, false}, {2, 1, B, false});
	CHECK("each sees another one", NUMBERS(1, 0), {1, 0, B, false}, {2, 0, A, false});
	CHECK("one process sees the second alone", NUMBERS(1, 0, 1), {1, 0, B, false},
		{2, 0, A, false}, {2, 1, B, false});
	CHECK("sampled", NUMBERS(1, 0, 1, 0), {1, 0, B, false}, {2, 0, A, false},
		{1, 1, B_BY_NVML, true}, {1, 0, A_BY_NVML, true});
	CHECK("one is sampled", NUMBERS(0, 1, 0), {1, 0, B, false}, {2, 0, A, false},
		{1, 0, B_BY_NVML, true});
	CHECK("a number that nobody else asks for is kept", NUMBERS(0, 2, 1), {1, 0, A, false},
		{2, 0, B, false}, {2, 1, C, false});
	CHECK("without a UUID", NUMBERS(4, 4, 5), {1, 4, 0, false}, {2, 4, 0, false},
		{3, 4, A, false});
	CHECK("beyond all numbers", NUMBERS(2, 0, 1), {1, UINT32_MAX, A, false}, {2, 0, B, false},
		{3, 0, C, false});
	CHECK("two hosts", NUMBERS(0, 1, 2, 3), {1, 0, C, false}, {1, 1, D, false},
		{4, 0, A, false}, {4, 1, B, false});
	CHECK("two hosts, sampled", NUMBERS(0, 1, 2, 3), {1, 0, C, false}, {2, 0, D, false},
		{4, 0, A, false}, {5, 0, B, false}, {1, 0, C_BY_NVML, true},
		{1, 1, D_BY_NVML, true}, {4, 0, A_BY_NVML, true}, {4, 1, B_BY_NVML, true});
	contents_release(&c);
	return tap_done();
}
