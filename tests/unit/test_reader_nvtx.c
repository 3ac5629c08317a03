/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_nvtx.c - tests of extended NVTX payloads.
 *
 * Every type and layout is printed as the documented JSON. Whatever layouts and lengths a file has,
 * printing ends and reads nothing but the payload.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/nvtx/ext.h"
#include "reader/nvtx/decode.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

#define FIRST_ID ((int64_t)NVTX_ID_DYNAMIC)

struct entry {
	const char *name;
	uint64_t type, flags, detail, offset;
};

static struct make_report m;
static struct contents contents;
static struct nvtx_payloads payloads;
static int64_t now = 1000;

static void begin(void)
{
	make_init(&m, false);
	make_process(&m, 1, 100, 1, "/bin/app");
}

static void schema(uint32_t process, int64_t id, uint32_t layout, uint64_t bytes, uint64_t pack,
	const struct entry *entries, size_t count)
{
	const int64_t row[] = {
		now++, 0, id, 0, layout, 0, (int64_t)bytes, (int64_t)pack, (int64_t)count};
	make_batch(&m, KIND_NVTX_SCHEMA, process, 1, 1, 9, row);
	for (size_t i = 0; i < count; i++) {
		const struct entry *e = &entries[i];
		const int64_t values[] = {now++, 0, id, (int64_t)i,
			e->name ? make_string(&m, e->name) : 0, 0, (int64_t)e->type,
			(int64_t)e->flags, (int64_t)e->detail, (int64_t)e->offset};
		make_batch(&m, KIND_NVTX_SCHEMA_ENTRY, process, 1, 1, 10, values);
	}
}

static void piece(uint32_t process, int64_t payload, int64_t index, uint64_t schema_id,
	uint64_t address, int64_t offset, const void *bytes, size_t count)
{
	const int64_t row[] = {now++, 0, payload, index, (int64_t)schema_id, (int64_t)address,
		(int64_t)count, offset, count ? make_bytes(&m, bytes, count) : 0, 0};
	make_batch(&m, KIND_NVTX_PAYLOAD, process, 1, 1, 10, row);
}

static void far_text(int64_t payload, int64_t address, const void *bytes, size_t count)
{
	const int64_t row[] = {now++, 0, payload, address, make_bytes(&m, bytes, count)};
	make_batch(&m, KIND_NVTX_PAYLOAD_TEXT, 1, 1, 1, 5, row);
}

static int visit_batch(void *user, struct walk *walk, const struct event_batch *b)
{
	(void)user;
	(void)walk;
	return nvtx_payloads_take(&payloads, b);
}

static void read_back(void)
{
	struct report report;
	const char *cause;
	const struct contents_visitor visitor = {NULL, NULL, visit_batch, NULL};
	make_block_end(&m);
	contents_init(&contents);
	nvtx_payloads_init(&payloads, &contents);
	if (report_open_memory(&report, m.data, m.bytes, &cause) ||
		contents_read(&contents, &report, &visitor))
		abort();
	report_close(&report);
	nvtx_payloads_ready(&payloads);
}

static void done(void)
{
	nvtx_payloads_release(&payloads);
	contents_release(&contents);
	make_release(&m);
}

static char *printed_as(struct nvtx_payload_ref ref, size_t *ret_bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_bytes);
	if (!out)
		abort();
	nvtx_payload_print(out, &payloads, &ref);
	fclose(out);
	return text;
}

static void is_printed(uint32_t process, uint64_t payload, const char *wanted, const char *what)
{
	size_t bytes;
	char *got = printed_as(
		(struct nvtx_payload_ref){.process = process, .payload = payload}, &bytes);
	check(!strcmp(got, wanted), "%s%s%s", what, strcmp(got, wanted) ? ": got " : "",
		strcmp(got, wanted) ? got : "");
	free(got);
}

static void numbers_of_every_type(void)
{
	static const struct {
		uint32_t type;
		uint8_t bytes[16];
		uint32_t count;
		const char *wanted;
	} all[] = {{NVTX_TYPE_CHAR, "A", 1, "\"A\""}, {NVTX_TYPE_UCHAR, {200}, 1, "200"},
		{NVTX_TYPE_SHORT, {0xfe, 0xff}, 2, "-2"},
		{NVTX_TYPE_USHORT, {0xfe, 0xff}, 2, "65534"},
		{NVTX_TYPE_LONG, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, "-1"},
		{NVTX_TYPE_SIZE, {0, 0, 0, 0, 1}, 8, "4294967296"},
		{NVTX_TYPE_WCHAR, {0xac, 0x20}, 4, "\"\xe2\x82\xac\""},
		{NVTX_TYPE_CHAR16, {0xe9}, 2, "\"\xc3\xa9\""},
		{NVTX_TYPE_BYTE, {0xab}, 1, "\"ab\""},
		{NVTX_TYPE_INT128,
			{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			16, "-18446744073709551616"},
		{NVTX_TYPE_UINT128,
			{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				0xff, 0xff, 0xff, 0xff},
			16, "340282366920938463463374607431768211455"},
		{NVTX_TYPE_FLOAT16, {0x00, 0x3e}, 2, "1.5"},
		{NVTX_TYPE_FLOAT16, {0x01}, 2, "5.9605e-08"},
		{NVTX_TYPE_FLOAT16, {0x00, 0xfc}, 2, "null"},
		{NVTX_TYPE_FLOAT16, {0x00, 0x80}, 2, "-0"},
		{NVTX_TYPE_BF16, {0xc0, 0x3f}, 2, "1.5"},
		{NVTX_TYPE_TF32, {0, 0, 0xc0, 0x3f}, 4, "1.5"},
		{NVTX_TYPE_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, 8, "null"},
		{NVTX_TYPE_LONGDOUBLE, {0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f}, 16, "1.5"},
		{NVTX_TYPE_FLOAT128, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f}, 16,
			"1.5"},
		{NVTX_TYPE_COLOR, {1, 2, 3, 0xff}, 4, "\"0xff030201\""},
		{NVTX_TYPE_TID32, {7}, 4, "7"}, {NVTX_TYPE_PID64, {8}, 8, "8"},
		{NVTX_TYPE_UTF8, "plain", 5, "\"plain\""},
		{NVTX_TYPE_UTF16, {0x3d, 0xd8, 0x00, 0xde, 'x', 0, 0, 0, 'y', 0}, 10,
			"\"\xf0\x9f\x98\x80x\""},
		{NVTX_TYPE_UTF16, {0x3d, 0xd8, 'x'}, 3, "\"\xef\xbf\xbd\""},
		{NVTX_TYPE_UTF32, {0xff, 0xff, 0xff, 0xff, 'z'}, 8, "\"\xef\xbf\xbdz\""},
		{NVTX_TYPE_CSTRING, "a\xff\"", 3, "\"a\\udcff\\\"\""},
		{NVTX_TYPE_INT32, {1, 0, 0, 0, 2, 0, 0, 0, 3}, 9, "[1,2]"},
		{12345, "ab", 2, "\"6162\""}, {NVTX_TYPE_RAW, "ab", 2, "\"6162\""}};
	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		piece(1, (int64_t)i + 1, 0, all[i].type, 0, 0, all[i].bytes, all[i].count);
	read_back();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char what[48];
		snprintf(what, sizeof(what), "a payload of type %u", all[i].type);
		is_printed(1, i + 1, all[i].wanted, what);
	}
	is_printed(1, 999, "null", "a payload that the report does not have is printed as its id");
	is_printed(2, 1, "null", "a payload of another process is not used");
	done();
}

static void layouts_and_lengths(void)
{
	const struct entry packed[] = {
		{"a", NVTX_TYPE_UINT8, 0, 0, 0}, {NULL, NVTX_TYPE_UINT32, 0, 0, 0}};
	const struct entry matrix[] = {{"n", NVTX_TYPE_UINT8, NVTX_ARRAY_FIXED, 2, 0},
		{"m", NVTX_TYPE_INT8, NVTX_ARRAY_LENGTH_ENTRY, 0, 0},
		{"after", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry lent[] = {{"m", NVTX_TYPE_INT16, NVTX_ARRAY_LENGTH_PAYLOAD, 1, 0}};
	const struct entry offsets[] = {
		{"base", NVTX_TYPE_UTF8, NVTX_ENTRY_FROM_BASE | NVTX_ARRAY_TERMINATED, 0, 0},
		{"here", NVTX_TYPE_UINT8, NVTX_ENTRY_FROM_HERE, 0, 0},
		{"near", NVTX_TYPE_UINT16, NVTX_ENTRY_POINTER | NVTX_ARRAY_FIXED, 2, 0},
		{"far", NVTX_TYPE_UTF16, 0, 0, 0}};
	const struct entry inner[] = {{"n", NVTX_TYPE_UINT8, 0, 0, 0},
		{"text", NVTX_TYPE_CSTRING, NVTX_ARRAY_LENGTH_ENTRY, 0, 0}};
	const struct entry outer[] = {{"first", FIRST_ID + 5, 0, 0, 0},
		{"second", FIRST_ID + 5, 0, 0, 0}, {"end", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct {
		uint64_t base, here, near, far;
		char text[4];
		uint8_t byte;
	} o = {32, 20, 0x1002, 0x5000, "abc", 9};
	begin();
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 0, 1, packed, 2);
	schema(1, FIRST_ID + 2, NVTX_LAYOUT_DYNAMIC, 0, 0, matrix, 3);
	schema(1, FIRST_ID + 3, NVTX_LAYOUT_DYNAMIC, 0, 0, lent, 1);
	schema(1, FIRST_ID + 4, NVTX_LAYOUT_STATIC, 0, 0, offsets, 4);
	schema(1, FIRST_ID + 5, NVTX_LAYOUT_DYNAMIC, 0, 0, inner, 2);
	schema(1, FIRST_ID + 6, NVTX_LAYOUT_DYNAMIC, 0, 0, outer, 3);
	piece(1, 1, 0, FIRST_ID + 1, 0, 0, "\001\002\000\000\000", 5);
	piece(1, 2, 0, FIRST_ID + 2, 0, 0, "\002\003\001\002\003\004\005\377\052", 9);
	piece(1, 3, 0, FIRST_ID + 3, 0, 0, "\001\000\002\000\003\000", 6);
	piece(1, 3, 1, NVTX_TYPE_UINT32, 0, 0, "\002\000\000\000", 4);
	piece(1, 4, 0, FIRST_ID + 4, 0, 0, &o, sizeof(o));
	piece(1, 4, 1, NVTX_TYPE_REFERENCED, 0x1000, 0, "\001\000\002\000\003\000", 6);
	far_text(4, 0x5000, "h\0i", 4);
	piece(1, 6, 0, FIRST_ID + 6, 0, 0, "\002hi\003you\007", 8);
	piece(1, 7, 0, FIRST_ID + 1, 0, 0, "\001\002", 2); /* a payload in pieces */
	piece(1, 7, 0, FIRST_ID + 1, 0, 2, "\000\000\000", 3);
	piece(1, 8, 0, FIRST_ID + 1, 0, 0, "\001", 1); /* a payload with a missing piece */
	piece(1, 8, 0, FIRST_ID + 1, 0, 2, "\000\000\000", 3);
	read_back();
	is_printed(1, 1, "{\"a\":1,\"1\":2}", "a packed layout, and an entry without a name");
	is_printed(1, 2, "{\"n\":[2,3],\"m\":[[1,2,3],[4,5,-1]],\"after\":42}",
		"an array with two dimensions");
	is_printed(1, 3, "[{\"m\":[1,2]},2]", "a length that is stored in another payload");
	is_printed(1, 4, "{\"base\":\"abc\",\"here\":9,\"near\":[2,3],\"far\":\"hi\"}",
		"offsets, pointers, and a text outside of the payload");
	is_printed(1, 6,
		"{\"first\":{\"n\":2,\"text\":\"hi\"},\"second\":{\"n\":3,\"text\":\"you\"},"
		"\"end\":7}",
		"a layout of unknown length within a layout");
	is_printed(1, 7, "{\"a\":1,\"1\":2}", "a payload stored in pieces");
	is_printed(1, 8, "{\"a\":1,\"1\":null}", "a payload with a missing piece");
	done();
}

static void batches(void)
{
	const struct entry event[] = {{"t", NVTX_TYPE_UINT32, 0, 0, 0},
		{"name", NVTX_TYPE_UTF8, NVTX_ENTRY_FROM_BASE | NVTX_ARRAY_TERMINATED, 0, 0}};
	const struct entry sized[] = {{"n", NVTX_TYPE_UINT8, 0, 0, 0},
		{"v", NVTX_TYPE_UINT8, NVTX_ARRAY_LENGTH_ENTRY, 0, 0}};
	const struct {
		uint64_t t, name;
	} events[] = {{1, 4}, {2, 8}};
	size_t bytes;
	begin();
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 16, 0, event, 2);
	schema(1, FIRST_ID + 2, NVTX_LAYOUT_DYNAMIC, 0, 0, sized, 2);
	piece(1, 1, 0, FIRST_ID + 1, 0, 0, events, sizeof(events));
	piece(1, 1, 1, NVTX_TYPE_REFERENCED, 0, 0, "one\0two", 8);
	piece(1, 2, 0, FIRST_ID + 2, 0, 0, "\001\007\000\002\010\011", 6);
	const int64_t counter[] = {now++, 0, FIRST_ID + 9, NVTX_TYPE_FLOAT, 0, 0, 0};
	make_batch(&m, KIND_NVTX_COUNTER, 1, 1, 1, 7, counter);
	piece(1, 3, 0, 0, 0, 0, "\0\0\0\0\0\0\200\077", 8);
	piece(1, 3, 1, NVTX_TYPE_INT64, 0, 0, "\001\0\0\0\0\0\0\0", 8);
	read_back();
	char *got = printed_as(
		(struct nvtx_payload_ref){
			.use = NVTX_USE_EVENT_BATCH, .process = 1, .payload = 1, .flex_offset = 4},
		&bytes);
	check(!strcmp(got, "[{\"t\":1,\"name\":\"one\"},{\"t\":2,\"name\":\"two\"}]"),
		"the events of a batch are printed with the texts they refer to: %s", got);
	free(got);
	got = printed_as(
		(struct nvtx_payload_ref){.use = NVTX_USE_EVENT_BATCH, .process = 1, .payload = 2},
		&bytes);
	check(!strcmp(got, "[{\"n\":1,\"v\":[7]},{\"n\":0,\"v\":[]},{\"n\":2,\"v\":[8,9]}]"),
		"a batch may have events of different lengths: %s", got);
	free(got);
	got = printed_as((struct nvtx_payload_ref){.use = NVTX_USE_SAMPLE_BATCH,
				 .process = 1,
				 .payload = 3,
				 .counter = (uint64_t)FIRST_ID + 9},
		&bytes);
	check(!strcmp(got, "{\"values\":[0,1],\"times\":[1]}"),
		"the samples of a batch are printed: %s", got);
	free(got);
	done();
}

static void enumeration(int64_t id, int64_t index, const char *name)
{
	const int64_t row[] = {now++, 0, id, 0, 1, index, make_string(&m, name), index, 0};
	make_batch(&m, KIND_NVTX_ENUM, 1, 1, 1, 9, row);
}

static void registered_again(void)
{
	const struct entry first[] = {
		{"a", NVTX_TYPE_UINT8, 0, 0, 0}, {"b", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry second[] = {{"c", NVTX_TYPE_UINT16, 0, 0, 0}};
	const struct entry around[] = {
		{"in", FIRST_ID + 1, 0, 0, 0}, {"behind", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry wide[] = {{"d", NVTX_TYPE_UINT32, 0, 0, 0}};
	const struct entry named[] = {{"e", FIRST_ID + 3, 0, 0, 0}};
	begin();
	piece(1, 1, 0, FIRST_ID + 1, 0, 0, "\001\002", 2);
	schema(1, FIRST_ID + 2, NVTX_LAYOUT_STATIC, 0, 0, around, 2);
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 0, 0, first, 2);
	piece(1, 2, 0, FIRST_ID + 1, 0, 0, "\001\002", 2);
	piece(1, 3, 0, FIRST_ID + 2, 0, 0, "\001\002\003\004\005\006\007\010", 8);
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 0, 0, second, 1);
	piece(1, 4, 0, FIRST_ID + 1, 0, 0, "\001\002", 2);
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 0, 0, wide, 1);
	piece(1, 5, 0, FIRST_ID + 2, 0, 0, "\001\002\003\004\005\006\007\010", 8);
	schema(1, FIRST_ID + 4, NVTX_LAYOUT_STATIC, 0, 0, named, 1);
	enumeration(FIRST_ID + 3, 0, "zero");
	enumeration(FIRST_ID + 3, 1, "one");
	piece(1, 6, 0, FIRST_ID + 4, 0, 0, "\001", 1);
	enumeration(FIRST_ID + 3, 0, "none");
	piece(1, 7, 0, FIRST_ID + 4, 0, 0, "\000", 1);
	piece(1, 8, 0, FIRST_ID + 4, 0, 0, "\001", 1);
	read_back();
	is_printed(1, 2, "{\"a\":1,\"b\":2}", "a payload uses the registration before it");
	is_printed(1, 4, "{\"c\":513}",
		"a payload after a second registration has none of the first one's entries");
	is_printed(1, 1, "{\"a\":1,\"b\":2}", "a payload before all registrations uses the first");
	is_printed(1, 3, "{\"in\":{\"a\":1,\"b\":2},\"behind\":3}",
		"a nested layout uses the registration of the payload's time");
	is_printed(1, 5, "{\"in\":{\"d\":67305985},\"behind\":5}",
		"a later nested layout of another size moves the entries after it");
	is_printed(1, 3, "{\"in\":{\"a\":1,\"b\":2},\"behind\":3}",
		"an earlier payload still uses the earlier nested layout");
	is_printed(1, 6, "{\"e\":\"one\"}", "a value of an enumeration is printed by its name");
	is_printed(1, 7, "{\"e\":\"none\"}",
		"a second enumeration with the same id is used for later payloads");
	is_printed(1, 8, "{\"e\":1}",
		"a value that only the first enumeration had is printed as a number");
	done();
}

static void forked_children(void)
{
	const struct entry one[] = {{"x", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry other[] = {{"y", NVTX_TYPE_UINT8, 0, 0, 0}};
	begin();
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Process child = LIBTRACE__PROCESS__INIT;
	child.has_id = child.has_pid = child.has_parent_pid = child.has_forked = true;
	child.has_start_ns = true;
	child.id = 2;
	child.pid = 200;
	child.parent_pid = 100;
	child.forked = true;
	child.start_ns = 1u << 30;
	entry.process = &child;
	make_entry(&m, &entry);
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 1, 0, one, 1);
	schema(1, FIRST_ID + 2, NVTX_LAYOUT_STATIC, 1, 0, one, 1);
	schema(2, FIRST_ID + 2, NVTX_LAYOUT_STATIC, 1, 0, other, 1);
	piece(2, 1, 0, FIRST_ID + 1, 0, 0, "\001", 1);
	piece(2, 2, 0, FIRST_ID + 2, 0, 0, "\002", 1);
	now = child.start_ns + 1;
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 1, 0, other, 1);
	piece(2, 3, 0, FIRST_ID + 1, 0, 0, "\003", 1);
	piece(1, 4, 0, FIRST_ID + 1, 0, 0, "\004", 1);
	now = 5000;
	read_back();
	is_printed(2, 1, "{\"x\":1}",
		"a child uses a layout that the parent registered before the fork");
	is_printed(2, 2, "{\"y\":2}", "a layout of the child's own takes precedence");
	is_printed(
		2, 3, "{\"x\":3}", "a child does not use what the parent registers after the fork");
	is_printed(1, 4, "{\"y\":4}", "the parent uses what it registers after the fork");
	done();
}

/* Check that printing ends, and that the output is bounded. */
static void ends(uint64_t payload, size_t most_bytes, const char *what)
{
	size_t bytes;
	char *got = printed_as((struct nvtx_payload_ref){.process = 1, .payload = payload}, &bytes);
	check(bytes > 0 && bytes <= most_bytes, "%s: the output is bounded: %zu bytes", what,
		bytes);
	free(got);
	got = printed_as(
		(struct nvtx_payload_ref){
			.use = NVTX_USE_EVENT_BATCH, .process = 1, .payload = payload},
		&bytes);
	check(bytes > 0 && bytes <= most_bytes, "%s, as a batch: the output is bounded: %zu bytes",
		what, bytes);
	free(got);
}

static void hostile(void)
{
	static uint8_t zeros[4096];
	struct entry many[64];
	const struct entry itself[] = {
		{"again", FIRST_ID + 1, 0, 0, 0}, {"x", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry long_array[] = {{"a", NVTX_TYPE_UINT64, NVTX_ARRAY_FIXED, UINT64_MAX, 0},
		{"b", NVTX_TYPE_UINT8, 0, 0, 0}};
	const struct entry nothing[] = {{"e", FIRST_ID + 4, NVTX_ARRAY_FIXED, UINT64_MAX, 0}};
	const struct entry forward[] = {{"v", NVTX_TYPE_UINT8, NVTX_ARRAY_LENGTH_ENTRY, 5, 0},
		{"u", FIRST_ID + 7, 0, 9, 0}, {"o", NVTX_TYPE_UINT8, 0, 0, UINT64_MAX - 3},
		{"p", NVTX_TYPE_UINT8, NVTX_ENTRY_FROM_BASE, 0, UINT64_MAX}};
	const struct entry members[] = {{"s", NVTX_TYPE_SELECTOR, 0, 0, 0},
		{"far", NVTX_TYPE_UINT64, 0, 0, UINT64_MAX - 1}};
	begin();
	schema(1, FIRST_ID + 1, NVTX_LAYOUT_STATIC, 0, 0, itself, 2);
	schema(1, FIRST_ID + 2, NVTX_LAYOUT_STATIC, 0, 0, long_array, 2);
	schema(1, FIRST_ID + 3, NVTX_LAYOUT_DYNAMIC, 0, 0, nothing, 1);
	schema(1, FIRST_ID + 4, NVTX_LAYOUT_STATIC, 0, 0, NULL, 0);
	schema(1, FIRST_ID + 6, NVTX_LAYOUT_DYNAMIC, 0, UINT64_MAX, forward, 4);
	schema(1, FIRST_ID + 7, NVTX_LAYOUT_UNION, 0, 0, members, 2);
	schema(1, FIRST_ID + 8, NVTX_LAYOUT_UNION_SELECTED, 0, 0, members, 2);
	for (int64_t level = 0; level < 12; level++) { /* 64 to the power of 12 */
		for (size_t i = 0; i < 64; i++)
			many[i] = (struct entry){"n",
				level ? (uint64_t)(FIRST_ID + 20 + level - 1) : NVTX_TYPE_UINT8, 0,
				0, 0};
		schema(1, FIRST_ID + 20 + level, NVTX_LAYOUT_DYNAMIC, 0, 0, many, 64);
	}
	for (int64_t i = 1; i <= 8; i++)
		piece(1, i, 0, (uint64_t)(FIRST_ID + i), 0, 0, zeros, sizeof(zeros));
	piece(1, 9, 0, (uint64_t)(FIRST_ID + 31), 0, 0, zeros, sizeof(zeros));
	piece(1, 10, 0, (uint64_t)(FIRST_ID + 2), 0, INT64_MIN, zeros, 8);
	read_back();
	ends(1, 4096 * 400, "a layout that contains itself");
	ends(2, 4096 * 200, "an array of 2^64 elements");
	ends(3, 4096 * 200, "an array of empty elements");
	ends(4, 4096 * 200, "a layout without entries");
	ends(6, 4096 * 200, "lengths in later entries, offsets beyond the payload");
	ends(7, 4096 * 200, "a union without a selector");
	ends(8, 4096 * 200, "a member far beyond the payload");
	ends(9, (size_t)NVTX_DECODE_VALUES_MAX * 16, "layouts that would print 2^72 values");
	ends(10, 4096 * 200, "a piece with a negative offset");
	done();
}

int main(void)
{
	numbers_of_every_type();
	layouts_and_lengths();
	batches();
	registered_again();
	forked_children();
	hostile();
	return tap_done();
}
