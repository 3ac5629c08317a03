/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_python.c - tests of reading Python frames from invented memory: wrong offsets, torn
 * frames, loops, invalid pointers. Nothing may crash, and valid memory gives the right frames.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "tap.h"
#include "unwind/python.h"

#define WORDS 4096u /* of the picture: eight pages, with nothing readable around them */
#define ROUNDS 20000u

static uint64_t *picture;
static uint64_t seed = 1;
static uint64_t state_now;
static int finalizing;
static struct python_code defined[8];
static char defined_name[8][32];
static uint32_t defined_count;
static bool refuse;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static uint64_t thread_state(void)
{
	return state_now;
}

static int is_finalizing(void)
{
	return finalizing;
}

static bool define(void *arg, const struct python_code *code)
{
	(void)arg;
	if (refuse)
		return false;
	if (defined_count < 8) {
		defined[defined_count] = *code;
		memcpy(defined_name[defined_count], code->name,
			code->name_bytes < 31 ? code->name_bytes : 31);
	}
	defined_count++;
	return true;
}

static uint64_t address(uint32_t word)
{
	return (uint64_t)(uintptr_t)(picture + word);
}

static void picture_map(void)
{
	char *area =
		mmap(NULL, WORDS * 8 + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	picture = (uint64_t *)(void *)(area + 4096);
	mprotect(picture, WORDS * 8, PROT_READ | PROT_WRITE);
}

enum { CODE_TYPE = 0, TEXT_TYPE = 8, BYTES_TYPE = 16, STATE = 64, FRAMES = 256, OBJECTS = 1024 };

static struct python_setup setup_of(const struct python_layout *layout)
{
	return (struct python_setup){.layout = *layout,
		.thread_state = thread_state,
		.is_finalizing = is_finalizing,
		.code_type = address(CODE_TYPE),
		.text_type = address(TEXT_TYPE),
		.bytes_type = address(BYTES_TYPE),
		.define = define};
}

static void text_put(uint32_t at, const void *text, uint32_t count, uint32_t kind, bool is_ascii)
{
	picture[at] = 1;
	picture[at + 1] = address(TEXT_TYPE);
	picture[at + 2] = count;
	picture[at + 4] = kind << 2 | 1u << 5 | (uint32_t)is_ascii << 6;
	memcpy(picture + at + (is_ascii ? 6 : 9), text, (size_t)count * kind);
}

/* Draw a code object of 3.11 with its texts, and return its address. */
static uint64_t code_put(uint32_t at, uint32_t first_line, const void *name, uint32_t count,
	uint32_t kind, bool is_ascii)
{
	picture[at] = 1;
	picture[at + 1] = address(CODE_TYPE);
	picture[at + 9] = first_line;
	picture[at + 14] = address(at + 40);
	picture[at + 16] = address(at + 56);
	picture[at + 17] = address(at + 80);
	text_put(at + 40, "file.py", 7, 1, true);
	text_put(at + 56, name, count, kind, is_ascii);
	picture[at + 80] = 1;
	picture[at + 81] = address(BYTES_TYPE);
	picture[at + 82] = 12;
	memset(picture + at + 84, 0x80, 12);
	return address(at);
}

/* Draw three frames of 3.11, the outer two of one C frame, and return the code objects. */
static void true_picture(uint64_t code[2])
{
	static const uint16_t wide[] = {0x6f22, 0x5b57, 0xe9};
	memset(picture, 0, WORDS * 8);
	code[0] = code_put(OBJECTS, 10, "inner", 5, 1, true);
	code[1] = code_put(OBJECTS + 128, 20, wide, 3, 2, false);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t f = FRAMES + 32 * i;
		uint64_t of = code[i > 0];
		picture[f + 4] = of;
		picture[f + 6] = i < 2 ? address(f + 32) : 0;
		picture[f + 7] = of + 184 + 2 * i;
		((uint8_t *)(picture + f))[68] = i != 1; /* is_entry */
	}
	state_now = address(STATE);
	picture[STATE + 7] = address(STATE + 32);
	picture[STATE + 33] = address(FRAMES); /* cframe: current_frame, previous */
	picture[STATE + 34] = address(STATE + 48);
	picture[STATE + 49] = 0;
}

static struct python_thread thread;

static enum python_answer walked(uint32_t depth)
{
	memset(&thread.pages, 0, sizeof(thread.pages));
	return python_walk(&thread, depth, false, NULL);
}

static void test_true(void)
{
	uint64_t code[2];
	const struct python_setup setup = setup_of(python_layout_of(0x030b));
	python_init(&setup);
	true_picture(code);
	enum python_answer answer = walked(128);
	check(answer == PYTHON_FRAMES && thread.count == 3, "three frames are read");
	check(defined_count == 2 && !strcmp(defined_name[0], "inner") &&
			!strcmp(defined_name[1], "\xe6\xbc\xa2\xe5\xad\x97\xc3\xa9"),
		"two code objects are defined, in UTF-8");
	check(PYTHON_INSTRUCTION_OF(thread.frames[2].address) == 3 &&
			PYTHON_CODE_OF(thread.frames[1].address) ==
				PYTHON_CODE_OF(thread.frames[2].address),
		"a frame is its code object and instruction");
	check(thread.frames[0].at == address(STATE + 32) &&
			thread.frames[1].at == address(STATE + 48) &&
			thread.frames[2].at == address(STATE + 48),
		"and knows its C frame");
	check(walked(128) == PYTHON_FRAMES && defined_count == 2, "nothing is defined twice");
	check(walked(2) == PYTHON_CUT && thread.count == 2, "the depth cuts");
	memset(picture + OBJECTS + 84, 0x88, 8);
	check(walked(128) == PYTHON_FRAMES && defined_count == 3,
		"an object at the same address with other lines is defined anew");
	python_forked();
	check(walked(128) == PYTHON_FRAMES && defined_count == 5,
		"a forked child defines all anew");
	picture[OBJECTS] = 0;
	check(walked(128) == PYTHON_FRAMES && PYTHON_CODE_OF(thread.frames[0].address) == 0,
		"an object that is being freed has no name");
	picture[OBJECTS + 1] = address(TEXT_TYPE);
	picture[OBJECTS] = 1;
	python_forked();
	check(walked(128) == PYTHON_WRONG && !thread.count,
		"a code object of another type is wrong");
	finalizing = 1;
	check(walked(128) == PYTHON_NOTHING, "nothing is read once the interpreter ends");
	finalizing = 0;
	state_now = 0;
	check(walked(128) == PYTHON_NOTHING, "nor in a thread without Python");
}

/* Pages that go away between two calls. */
static void test_unmapped(void)
{
	uint64_t code[2];
	true_picture(code);
	python_forked();
	walked(128);
	mprotect(picture, 4096, PROT_NONE);
	check(python_walk(&thread, 128, true, NULL) == PYTHON_WRONG,
		"after a call that unmaps, pages are asked for again");
	mprotect(picture, 4096, PROT_READ | PROT_WRITE);
}

static uint64_t any_word(void)
{
	switch (random_next() % 6) {
	case 0:
		return random_next();
	case 1:
		return random_next() % 8;
	case 2: /* near the end of what is readable */
		return address(WORDS) - 8 * (random_next() % 24);
	case 3:
		return address(0) - 8 * (random_next() % 24);
	default:
		return address((uint32_t)(random_next() % WORDS));
	}
}

/* Each round: a true picture with some words replaced, read by offsets that are often wrong. */
static void test_wrong(void)
{
	static const uint16_t versions[] = {0x0308, 0x0309, 0x030a, 0x030b, 0x030c};
	uint32_t answers[4] = {0}, longest = 0;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct python_layout layout = *python_layout_of(versions[random_next() % 5]);
		uint64_t code[2];
		true_picture(code);
		int16_t *offset = &layout.tstate_frame;
		for (unsigned wrong = random_next() % 3; wrong; wrong--)
			offset[random_next() % 15] = (int16_t)(random_next() % 256 * 8);
		for (unsigned wrong = random_next() % 12; wrong; wrong--)
			picture[random_next() % 1300] = any_word();
		if (random_next() % 16 == 0)
			state_now = any_word();
		const struct python_setup setup = setup_of(&layout);
		python_init(&setup);
		python_forked();
		refuse = random_next() % 8 == 0;
		defined_count = 0;
		enum python_answer answer = python_walk(
			&thread, (uint32_t)(random_next() % 200), random_next() % 4 == 0, NULL);
		answers[answer]++;
		longest = thread.count > longest ? thread.count : longest;
	}
	refuse = false;
	check(answers[PYTHON_WRONG] > ROUNDS / 10 && answers[PYTHON_FRAMES] > ROUNDS / 100,
		"wrong pictures are read without a crash");
	check(longest <= PYTHON_DEPTH_MAX && answers[PYTHON_CUT] > 0, "loops end at the depth");
}

static void test_offsets(void)
{
	uint64_t table[64] = {0};
	struct python_layout layout;
	uint32_t accepted = 0;
	bool inside = true;
	memcpy(table, "xdebugpy", 8);
	table[1] = 0x030d00f0;
	check(!python_layout_read(table, sizeof(table), 0x030d, &layout), "a table is read");
	check(python_layout_read(table, sizeof(table), 0x030e, &layout) &&
			python_layout_read(table, 64, 0x030d, &layout),
		"not of another version, nor a short one");
	table[2] = 1;
	check(python_layout_read(table, sizeof(table), 0x030d, &layout) != NULL,
		"nor of a free-threaded build");
	for (uint32_t round = 0; round < ROUNDS; round++) {
		table[2] = 0;
		for (uint32_t i = 3; i < 64; i++)
			table[i] = random_next() % 64 ? random_next() % 32 * 8 : random_next();
		if (python_layout_read(table, sizeof(table), 0x030d, &layout))
			continue;
		accepted++;
		const int16_t *offset = &layout.tstate_frame;
		for (uint32_t i = 0; i < 15; i++)
			inside &= offset[i] >= -1 && offset[i] <= 2048;
	}
	check(inside && accepted && accepted < ROUNDS, "offsets out of range are refused");
	check(!python_layout_of(0x030e) && !python_layout_of(0x0307) && !python_layout_of(0),
		"other versions are not known");
}

int main(void)
{
	picture_map();
	test_true();
	test_unmapped();
	test_wrong();
	test_offsets();
	return tap_done();
}
