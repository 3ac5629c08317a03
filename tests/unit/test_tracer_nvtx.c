/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tracer_nvtx.c - tests of NVTX in the traced process.
 *
 * Levels, texts, ids and names are as NVTX specifies. Events that do not fit are counted. Only the
 * first range of a thread makes a system call.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"
#include "tap.h"
#include "tracer/core/gate.h"
#include "tracer/core/lane.h"
#include "tracer/core/names.h"
#include "tracer/nvtx/hooks.h"
#include "tracer/nvtx/ranges.h"
#include "tracer/nvtx/text.h"
#include "tracer/session/session.h"
#include "tracer/nvtx/spans.h"
#include "tracer/core/spool_file.h"

static struct tree_control control;
static char folder[] = "/tmp/libtrace-nvtx-XXXXXX";

static void spool_make(void)
{
	static int number;
	int error = 0;
	memset(&thread_self, 0, sizeof(thread_self));
	snprintf(session.spool_path, sizeof(session.spool_path), "%s/%d.spool", folder, number++);
	spool_file_forget();
	session.spool = spool_file_create(session.spool_path, 64u << 20, &error);
	if (!session.spool)
		abort();
	spool_file_publish(session.spool_path);
	session.spool->limit_bytes = 64u << 20;
	session.control = &control;
	session.pid = (uint32_t)sys_getpid();
	session.state = SESSION_ON;
	session.config.nvtx = true;
	tree_gate = 1;
	gate_use(true);
	for (int i = 0; i < CHAIN_CLASSES; i++)
		own_words.chains_ticks[i] = UINT64_MAX;
	clock_point_take(&session.spool->first);
	names_forked(); /* a new spool: nothing has been written to it */
	nvtx_forked();
}

static struct nvtx_event text(const char *chars)
{
	return (struct nvtx_event){.kind = NVTX_TEXT_CHARS, .text = chars};
}

/* Return the last record of a kind in the thread's own lane, and how many there are. */
static const struct record *last_of(unsigned kind, uint64_t *ret_count)
{
	const struct lane *lane = thread_self.lane;
	const struct record *last = NULL;
	*ret_count = 0;
	for (uint64_t at = 0; at < lane->head;) {
		char *chunk = spool_file_at(lane_chunk_offset(lane, at / CHUNK_BYTES));
		const struct record *r =
			(const struct record *)(const void *)(chunk + at % CHUNK_BYTES);
		unsigned found = r->word & RECORD_KIND_MASK;
		uint64_t extra = found >= REC_PAD ? r->word >> RECORD_LENGTH_SHIFT : 0;
		at += RECORD_BYTES + (extra + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
		if (found == REC_PAD)
			at = (at + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
		if (found != kind)
			continue;
		last = r;
		(*ret_count)++;
	}
	return last;
}

static void levels_are_counted(void)
{
	spool_make();
	struct nvtx_event e = text("x");
	struct name *a = nvtx_domain(NVTX_TEXT_CHARS, "a"), *b = nvtx_domain(NVTX_TEXT_CHARS, "b");
	check(a && b && a != b && a == nvtx_domain(NVTX_TEXT_WIDE, L"a"),
		"domains with the same name are one domain, in any encoding");
	check(nvtx_string(a, NVTX_TEXT_CHARS, "s") != nvtx_string(b, NVTX_TEXT_CHARS, "s"),
		"a registered string belongs to its domain");
	check(nvtx_pop(NULL) == NVTX_NOT_OPEN, "a pop without a push returns an error");
	check(nvtx_push(NULL, &e) == 0 && nvtx_push(a, &e) == 0 && nvtx_push(b, &e) == 0 &&
			nvtx_push(a, &e) == 1 && nvtx_push(NULL, &e) == 1,
		"levels count by domain");
	check(nvtx_pop(b) == 0 && nvtx_pop(b) == NVTX_NOT_OPEN,
		"a range between those of other domains is popped");
	check(nvtx_pop(a) == 1 && nvtx_push(b, &e) == 0 && nvtx_pop(NULL) == 1 &&
			nvtx_pop(a) == 0 && nvtx_pop(b) == 0 && nvtx_pop(NULL) == 0,
		"ranges of several domains are popped in any order");
	check(thread_self.lane->ranges_top == 0, "no range is left after all pops");
}

static void deep_ranges_are_counted(void)
{
	enum { DEPTH = 5000 };
	spool_make();
	struct nvtx_event e = text("a range of a deep recursion");
	bool up = true, down = true;
	for (int i = 0; i < DEPTH; i++)
		up = up && nvtx_push(NULL, &e) == i;
	for (int i = DEPTH; i-- > 0;)
		down = down && nvtx_pop(NULL) == i;
	uint64_t count, dropped = thread_self.lane->dropped[DROP_NO_LANE];
	last_of(REC_NVTX_RANGE, &count);
	check(up && down, "levels are right for more ranges than there is room for");
	check(count + dropped == DEPTH && count > 500,
		"all ranges are recorded or counted as dropped: %llu and %llu",
		(unsigned long long)count, (unsigned long long)dropped);
}

/* Create what two tasks leave that push at the same time with the same thread-local memory. */
static void a_frame_below_itself_ends_no_loop(void)
{
	spool_make();
	struct name *a = nvtx_domain(NVTX_TEXT_CHARS, "a"), *b = nvtx_domain(NVTX_TEXT_CHARS, "b");
	struct nvtx_event event = text("range");
	check(nvtx_push(a, &event) == 0 && nvtx_push(a, &event) == 1, "two ranges are open");
	struct nvtx_frame *last =
		(struct nvtx_frame *)(void *)(thread_self.ranges + thread_self.ranges_last);
	last->previous = thread_self.ranges_last;
	check(nvtx_pop(b) == NVTX_NOT_OPEN, "a range of another domain is not found");
	check(nvtx_push(b, &event) == 0 && nvtx_pop(b) == 0, "further ranges are recorded");
	check(nvtx_pop(a) == 1 && nvtx_pop(a) == NVTX_NOT_OPEN, "the range below is lost");
}

static void texts_end_where_they_end(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char copy[NVTX_TEXT_BYTES + 16];
	bool whole = true, cut;
	mprotect(pages + 4096, 4096, PROT_NONE);
	memset(pages, 'y', 4096);
	pages[4095] = 0;
	for (uint32_t length = 0; length < 900; length++)
		whole = whole && nvtx_chars_copy(copy, pages + 4095 - length, &cut) == length &&
			!cut && !memcmp(copy, pages + 4095 - length, length);
	check(whole, "texts that end before an unreadable page are read whole");
	check(nvtx_chars_copy(copy, pages + 4095 - NVTX_TEXT_BYTES, &cut) == NVTX_TEXT_BYTES &&
			!cut,
		"the longest inline text is kept whole");
	check(nvtx_chars_copy(copy, pages + 4094 - NVTX_TEXT_BYTES, &cut) == NVTX_TEXT_BYTES && cut,
		"a text that is one byte longer is cut");
	memcpy(pages + NVTX_TEXT_BYTES - 1, "\xe2\x82\xac", 3);
	check(nvtx_chars_copy(copy, pages, &cut) == NVTX_TEXT_BYTES - 1 && cut,
		"a character is not cut in two");
	memset(pages, 0x80, 4095);
	check(nvtx_chars_copy(copy, pages, &cut) == NVTX_TEXT_BYTES && cut,
		"a text that is not UTF-8 is cut at any byte");
	munmap(pages, 8192);
}

static void wide_texts_become_utf8(void)
{
	char copy[NVTX_TEXT_BYTES + 16];
	static wchar_t many[NVTX_TEXT_BYTES];
	bool cut;
	const wchar_t odd[] = {
		L'a', 0xe9, 0x20ac, 0x1f600, (wchar_t)0xd800, (wchar_t)0x110000, (wchar_t)-1, 0};
	static const char wanted[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf"
				     "\xbd\xef\xbf\xbd";
	uint32_t length = nvtx_wide_copy(copy, odd, &cut);
	check(length == sizeof(wanted) - 1 && !memcmp(copy, wanted, length) && !cut,
		"wide characters become one to four bytes, invalid ones U+FFFD");
	for (uint32_t i = 0; i < NVTX_TEXT_BYTES - 1; i++)
		many[i] = 0x20ac;
	length = nvtx_wide_copy(copy, many, &cut);
	check(length == NVTX_TEXT_BYTES / 3 * 3 && cut, "a wide text is cut between characters");
}

static void long_texts_are_named(void)
{
	static char chars[NAME_BYTES_MAX + 4];
	static wchar_t wide[NAME_BYTES_MAX];
	spool_make();
	memset(chars, 'l', NAME_BYTES_MAX - 1);
	memcpy(chars + NAME_BYTES_MAX - 1, "\xe2\x82\xac", 3);
	for (uint32_t i = 0; i < NAME_BYTES_MAX / 3; i++)
		wide[i] = 0x20ac;
	const struct name *name = nvtx_message_name(NVTX_TEXT_CHARS, chars);
	check(name && name->is_cut && name->bytes == NAME_BYTES_MAX - 1,
		"a long text is not cut within a character");
	chars[NAME_BYTES_MAX - 1] = 0;
	const struct name *whole = nvtx_message_name(NVTX_TEXT_CHARS, chars);
	check(whole && !whole->is_cut && whole != name,
		"a long text that is whole differs from the cut one");
	check(nvtx_message_name(NVTX_TEXT_CHARS, chars) == whole, "a long text is stored once");
	name = nvtx_message_name(NVTX_TEXT_WIDE, wide);
	check(name && !name->is_cut && name->bytes == NAME_BYTES_MAX / 3 * 3,
		"a long wide text becomes UTF-8");
	struct nvtx_event e = text(chars);
	nvtx_mark(NULL, &e);
	struct nvtx_long rest;
	uint64_t count;
	const struct record *r = last_of(REC_NVTX_MARK, &count);
	memcpy(&rest, (const char *)(r + 1) + NVTX_TEXT_BYTES, sizeof(rest));
	const struct nvtx_text *told = spool_file_at((uint64_t)rest.ref * NVTX_NAME_UNIT);
	check(r->word >> RECORD_FLAGS_SHIFT & RECORD_TEXT_CUT && rest.bytes == NVTX_TEXT_BYTES &&
			!rest.is_cut && told->bytes == whole->bytes &&
			!memcmp(told->text, chars, told->bytes),
		"a record names its long text");
}

static void records_hold_what_was_given(void)
{
	spool_make();
	uint64_t count;
	struct nvtx_event e = text("hello");
	e.has_attributes = true;
	e.attributes = (struct nvtx_attributes){
		.category = 7, .color = 0xff00ff00, .payload_type = 1, .payload = 99};
	nvtx_push(NULL, &e);
	nvtx_pop(NULL);
	nvtx_end(nvtx_start(NULL, &e));
	nvtx_mark(NULL, &e);
	static const unsigned kinds[] = {REC_NVTX_MARK, REC_NVTX_RANGE, REC_NVTX_START_END};
	for (unsigned i = 0; i < 3; i++) {
		const struct record *r = last_of(kinds[i], &count);
		const char *at = (const char *)(r + 1);
		uint64_t bytes = r->word >> RECORD_LENGTH_SHIFT,
			 fixed = sizeof(e.attributes) + (i == 2 ? sizeof(struct nvtx_start) : 0);
		check(count == 1 && !memcmp(at, &e.attributes, sizeof(e.attributes)) &&
				bytes == fixed + 5 && !memcmp(at + fixed, "hello", 5),
			"record %#x has the attributes and the text of its event", kinds[i]);
	}
}

static void handlers_do_no_harm(void)
{
	spool_make();
	struct nvtx_event e = text("x");
	nvtx_mark(NULL, &e);
	uint64_t before, after, dropped = thread_self.lane->dropped[DROP_NESTED];
	last_of(REC_NVTX_MARK, &before);
	thread_enter(&thread_self);
	nvtx_mark(NULL, &e);
	check(nvtx_push(NULL, &e) == NVTX_NOT_TRACED && nvtx_pop(NULL) == NVTX_NOT_TRACED,
		"a handler that interrupts the tracer can push and pop");
	check(nvtx_start(NULL, &e) != 0,
		"a handler that interrupts the tracer gets an id from start");
	thread_leave(&thread_self);
	last_of(REC_NVTX_MARK, &after);
	check(after == before && thread_self.lane->dropped[DROP_NESTED] == dropped + 4,
		"all that a handler does inside the tracer is counted");
}

#define IDS 1000
static uint64_t ids[IDS];

static void *end_all(void *unused)
{
	for (int i = 0; i < IDS; i++)
		nvtx_end(ids[i]);
	uint64_t *count = malloc(sizeof(*count));
	last_of(REC_NVTX_START_END, count);
	(void)unused;
	return count;
}

static void ranges_end_once(void)
{
	spool_make();
	struct nvtx_event e = text("started");
	pthread_t thread;
	uint64_t own;
	void *others;
	for (int i = 0; i < IDS; i++)
		ids[i] = nvtx_start(NULL, &e);
	pthread_create(&thread, NULL, end_all, NULL);
	for (int i = 0; i < IDS; i++)
		nvtx_end(ids[i]);
	pthread_join(thread, &others);
	last_of(REC_NVTX_START_END, &own);
	check(own + *(uint64_t *)others == IDS,
		"when two threads end one range, one of them succeeds");
	free(others);
	uint32_t taken = 0;
	while (taken < NVTX_SPANS_MAX + 10 && spans_take())
		taken++;
	check(taken == NVTX_SPANS_MAX, "%u spans can be open", taken);
	uint64_t id = nvtx_start(NULL, &e);
	nvtx_end(id);
	nvtx_end(0);
	nvtx_end(~UINT64_C(0));
	last_of(REC_NVTX_START_END, &own);
	check(id && own <= IDS && thread_self.lane->dropped[DROP_NO_LANE] == 1,
		"a span too many has an id, and is counted as dropped");
}

static void names_are_written_again(void)
{
	spool_make();
	struct name *name = nvtx_string(NULL, NVTX_TEXT_CHARS, "stored in each spool");
	struct nvtx_event e = {.kind = NVTX_TEXT_NAME, .text = name};
	for (int i = 0; i < 2; i++) {
		uint64_t count;
		nvtx_mark(NULL, &e);
		nvtx_mark(NULL, &e);
		const struct record *r = last_of(REC_NVTX_MARK, &count);
		uint64_t offset = (r->a & UINT32_MAX) * NVTX_NAME_UNIT;
		const struct nvtx_text *told = spool_file_at(offset);
		check(count == 2 && told->bytes == name->bytes &&
				!memcmp(told->text, name->text, name->bytes),
			"the text is written to spool %d", i);
		spool_make();
	}
}

/* Use up the room for names, so this test is the last. */
static void names_have_a_limit(void)
{
	char chars[NVTX_TEXT_BYTES + 1];
	struct name *name = NULL, *before = NULL;
	memset(chars, 'n', sizeof(chars) - 1);
	chars[sizeof(chars) - 1] = 0;
	for (unsigned i = 0; i < NAMES_BYTES_MAX / NVTX_TEXT_BYTES + 2; i++) {
		before = name;
		snprintf(chars, 8, "%07u", i);
		chars[7] = 'n';
		name = nvtx_string(NULL, NVTX_TEXT_CHARS, chars);
	}
	check(name && name == before && strstr(name->text, "too many"),
		"all names beyond the limit become one name");
}

static unsigned calls_made;
static bool count_call(long number, const long argument[6], long *ret_result)
{
	(void)number, (void)argument, (void)ret_result;
	calls_made++;
	return false;
}

static void hot_path_makes_no_call(void)
{
	spool_make();
	struct nvtx_event e = text("of no cost to the kernel");
	nvtx_push(NULL, &e);
	nvtx_end(nvtx_start(NULL, &e));
	sys_override = count_call;
	for (int i = 0; i < 40; i++) { /* all fit into the initial reservation */
		nvtx_mark(NULL, &e);
		nvtx_push(NULL, &e);
		nvtx_pop(NULL);
		nvtx_end(nvtx_start(NULL, &e));
	}
	sys_override = NULL;
	check(calls_made == 0, "200 calls of NVTX make no system call: %u", calls_made);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	clock_init();
	levels_are_counted();
	deep_ranges_are_counted();
	a_frame_below_itself_ends_no_loop();
	texts_end_where_they_end();
	wide_texts_become_utf8();
	long_texts_are_named();
	records_hold_what_was_given();
	handlers_do_no_harm();
	ranges_end_once();
	names_are_written_again();
	hot_path_makes_no_call();
	names_have_a_limit();
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0 || tap_done();
}
