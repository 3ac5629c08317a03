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

#define WORDS 40960u /* of the picture: 80 pages, with nothing readable around them */
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

enum {
	CODE_TYPE = 0,
	TEXT_TYPE = 8,
	BYTES_TYPE = 16,
	COROUTINE_TYPE = 24,
	STATE = 64,
	FRAMES = 256,
	OBJECTS = 1024
};

static struct python_setup setup_of(const struct python_layout *layout)
{
	return (struct python_setup){.layout = *layout,
		.thread_state = thread_state,
		.is_finalizing = is_finalizing,
		.code_type = address(CODE_TYPE),
		.text_type = address(TEXT_TYPE),
		.bytes_type = address(BYTES_TYPE),
		.coroutine_type = address(COROUTINE_TYPE),
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

/* The frames of the last walk, the innermost first. */
static struct python_step frames[PYTHON_STEPS_MAX];
static uint32_t count;

static enum python_answer walk(uint32_t depth, bool unmapped)
{
	enum python_answer answer = python_walk(&thread, depth, unmapped, NULL);
	count = 0;
	for (uint32_t i = thread.count; i-- > thread.first && answer <= PYTHON_CUT;)
		if (thread.steps[i].address)
			frames[count++] = thread.steps[i];
	return answer;
}

/* Walk with an empty cache. */
static enum python_answer walked(uint32_t depth)
{
	memset(&thread, 0, sizeof(thread));
	return walk(depth, false);
}

static void test_true(void)
{
	uint64_t code[2];
	const struct python_setup setup = setup_of(python_layout_of(0x030b));
	python_init(&setup);
	true_picture(code);
	enum python_answer answer = walked(128);
	check(answer == PYTHON_FRAMES && count == 3, "three frames are read");
	check(defined_count == 2 && !strcmp(defined_name[0], "inner") &&
			!strcmp(defined_name[1], "\xe6\xbc\xa2\xe5\xad\x97\xc3\xa9"),
		"two code objects are defined, in UTF-8");
	check(PYTHON_INSTRUCTION_OF(frames[2].address) == 3 &&
			PYTHON_CODE_OF(frames[1].address) == PYTHON_CODE_OF(frames[2].address),
		"a frame is its code object and instruction");
	check(frames[0].at == address(STATE + 32) && frames[1].at == address(STATE + 48) &&
			frames[2].at == address(STATE + 48),
		"and knows its C frame");
	check(walked(128) == PYTHON_FRAMES && defined_count == 2, "nothing is defined twice");
	check(walked(2) == PYTHON_CUT && count == 2, "the depth cuts");
	memset(picture + OBJECTS + 84, 0x88, 8);
	check(walked(128) == PYTHON_FRAMES && defined_count == 3,
		"an object at the same address with other lines is defined anew");
	python_forked();
	check(walked(128) == PYTHON_FRAMES && defined_count == 5,
		"a forked child defines all anew");
	picture[OBJECTS] = 0;
	check(walked(128) == PYTHON_FRAMES && PYTHON_CODE_OF(frames[0].address) == 0,
		"an object that is being freed has no name");
	picture[OBJECTS + 1] = address(TEXT_TYPE);
	picture[OBJECTS] = 1;
	python_forked();
	check(walked(128) == PYTHON_WRONG && !count, "a code object of another type is wrong");
	picture[OBJECTS + 1] = address(CODE_TYPE);
	refuse = true;
	check(walked(128) == PYTHON_FRAMES && PYTHON_CODE_OF(frames[0].address) == 0,
		"nor has one whose definition found no room");
	refuse = false;
	check(walk(128, false) == PYTHON_FRAMES && PYTHON_CODE_OF(frames[0].address) != 0,
		"until there is room");
	picture[OBJECTS] = 0;
	check(walk(128, false) == PYTHON_FRAMES && PYTHON_CODE_OF(frames[0].address) == 0,
		"a remembered object that is being freed has no name");
	finalizing = 1;
	check(walked(128) == PYTHON_NOTHING, "nothing is read once the interpreter ends");
	finalizing = 0;
	state_now = 0;
	check(walked(128) == PYTHON_NOTHING, "nor in a thread without Python");
}

/* Unmap pages between two calls. */
static void test_unmapped(void)
{
	uint64_t code[2];
	true_picture(code);
	python_forked();
	walked(128);
	mprotect(picture, 4096, PROT_NONE);
	check(walk(128, true) == PYTHON_WRONG,
		"after a call that unmaps, pages are asked for again");
	mprotect(picture, 4096, PROT_READ | PROT_WRITE);
}

/* ---- a simulated interpreter ---- */

enum { SIM_DEPTH = 400, SIM_CODES = 12, SIM_CODE = 8192, SIM_CODE_WORDS = 128, SIM_FRAME = 10240 };

/* A frame of the simulated interpreter. `entry`: a C function called it. */
static struct {
	uint32_t code, instr, place;
	bool entry;
} sim[SIM_DEPTH];
static uint32_t sim_depth;
static uint32_t sim_lines[SIM_CODES]; /* the first line of each code object, a new one for each */
static uint32_t sim_serial;
static uint32_t line_of_id[1 << 16];
static struct python_layout sim_layout;

static bool sim_define(void *arg, const struct python_code *code)
{
	(void)arg;
	if (code->id < sizeof(line_of_id) / sizeof(line_of_id[0]))
		line_of_id[code->id] = code->first_line;
	return true;
}

static uint8_t *sim_at(uint32_t word, int16_t offset)
{
	return (uint8_t *)(picture + word) + offset;
}

static void word_put(uint32_t at, int16_t offset, uint64_t value, unsigned bytes)
{
	if (offset >= 0)
		memcpy(sim_at(at, offset), &value, bytes);
}

/* Put another code object at the address of number `i`. It differs from the last one only in its
 * line table and, in versions that have it, its number. */
static void sim_code(uint32_t i)
{
	const struct python_layout *l = &sim_layout;
	uint32_t at = SIM_CODE + i * SIM_CODE_WORDS, bytes = 8 + 8 * (i % 8);
	sim_lines[i] = ++sim_serial;
	picture[at] = 1;
	picture[at + 1] = address(CODE_TYPE);
	word_put(at, l->code_first_line, sim_lines[i], 4);
	word_put(at, l->code_file, address(at + 40), 8);
	word_put(at, l->code_name, address(at + 40), 8);
	word_put(at, l->code_table, address(at + 80), 8);
	word_put(at, l->code_version, sim_serial, 4);
	memset(picture + at + 40, 0, 96);
	picture[at + 40] = 1;
	picture[at + 41] = address(TEXT_TYPE);
	picture[at + 42] = 4;
	picture[at + 44] = 1u << 2 | 1u << 5 | 1u << 6;
	memcpy(sim_at(at + 40, l->text), "name", 4);
	picture[at + 80] = 1;
	picture[at + 81] = address(BYTES_TYPE);
	picture[at + 82] = bytes;
	picture[at + 84 + sim_serial % (bytes / 8)] = sim_serial;
}

/* Frame n is at SIM_FRAME + 64 * n or 48 words behind that; its shim is 16 or 28, its cframe 40 or
 * 44 words behind it: so the addresses of all vary. */
static uint32_t frame_at(uint32_t i)
{
	return SIM_FRAME + 64 * i + (sim[i].place & 1 ? 48 : 0);
}

static uint32_t shim_at(uint32_t i)
{
	return SIM_FRAME + 64 * i + (sim[i].place & 2 ? 28 : 16);
}

static uint32_t cframe_at(uint32_t i)
{
	return SIM_FRAME + 64 * i + (sim[i].place & 4 ? 44 : 40);
}

static void frame_draw(uint32_t i, uint64_t outer)
{
	const struct python_layout *l = &sim_layout;
	uint64_t code = address(SIM_CODE + sim[i].code * SIM_CODE_WORDS);
	uint32_t at = frame_at(i), instr = sim[i].instr;
	word_put(at, l->previous, outer, 8);
	word_put(at, l->code, code | (l->code_tag ? instr % 2 : 0), 8);
	word_put(at, l->instr,
		l->unit ? instr * 2 / l->unit : code + (uint64_t)l->code_start + instr * 2,
		l->unit ? 4 : 8);
	word_put(at, l->owner, 0, 1);
	word_put(at, l->is_entry, sim[i].entry, 1);
}

/* Draw the frames, and where the interpreter says they are. */
static void sim_draw(void)
{
	const struct python_layout *l = &sim_layout;
	bool shims = l->owner_shim && l->is_entry < 0;
	uint64_t outer = 0, cframe = address(STATE + 32);
	for (uint32_t i = 0; i < sim_depth; i++) {
		if (sim[i].entry && shims) {
			word_put(shim_at(i), l->previous, outer, 8);
			word_put(shim_at(i), l->owner, l->owner_shim, 1);
			outer = address(shim_at(i));
		}
		if (sim[i].entry) {
			word_put(cframe_at(i), l->cframe_previous, cframe, 8);
			cframe = address(cframe_at(i));
		}
		frame_draw(i, outer);
		outer = address(frame_at(i));
	}
	state_now = address(STATE);
	word_put(STATE, l->tstate_frame, outer, 8);
	word_put(STATE, l->tstate_cframe, cframe, 8);
	word_put((uint32_t)((cframe - address(0)) / 8), l->cframe_frame, outer, 8);
}

/* Replace a code object that no frame refers to. */
static void sim_recycle(uint32_t code)
{
	for (uint32_t i = 0; i < sim_depth; i++)
		if (sim[i].code == code)
			return;
	sim_code(code);
}

/* Change the interpreter's frames as a running program does. Often a function is called again at
 * the same place, or another one whose code object is at the same place. */
static void sim_run(void)
{
	uint32_t left = random_next() % 64 ? (uint32_t)random_next() % 6 : sim_depth / 2;
	sim_depth -= left < sim_depth ? left : sim_depth;
	for (uint32_t i = 0; i < 3 && sim_depth + i < SIM_DEPTH; i++)
		if (random_next() % 8 == 0)
			sim_recycle(sim[sim_depth + i].code);
	if (sim_depth && random_next() % 2)
		sim[sim_depth - 1].instr = (uint32_t)random_next() % 3;
	uint32_t more = random_next() % 64 ? (uint32_t)random_next() % 7 : 100;
	for (; more && sim_depth < SIM_DEPTH; more--, sim_depth++) {
		if (random_next() % 3 == 0)
			continue;
		if (random_next() % 2)
			sim[sim_depth].code = (uint32_t)random_next() % SIM_CODES;
		if (random_next() % 2)
			sim[sim_depth].instr = (uint32_t)random_next() % 3;
		if (random_next() % 2)
			sim[sim_depth].place = (uint32_t)random_next() % 8;
		sim[sim_depth].entry = !sim_depth || sim_layout.owner < 0 || random_next() % 3 == 0;
	}
	if (sim_depth)
		sim[0].entry = true;
	for (uint32_t i = 0; sim_layout.owner < 0 && i < sim_depth; i++)
		sim[i].entry = true;
	sim_draw();
}

/* Return true if the walk found frame number `i` from inside. */
static bool sim_equal(uint32_t i)
{
	const struct python_layout *l = &sim_layout;
	uint32_t number = sim_depth - 1 - i, entry = number;
	while (!sim[entry].entry)
		entry--;
	uint64_t at = l->tstate_cframe >= 0 ? address(cframe_at(entry))
		: l->owner_shim             ? address(shim_at(entry))
					    : 0;
	return PYTHON_INSTRUCTION_OF(frames[i].address) == sim[number].instr + 1 &&
		line_of_id[PYTHON_CODE_OF(frames[i].address)] == sim_lines[sim[number].code] &&
		frames[i].at == at;
}

/* Check that walks with a cache give the true chains, whatever was called in between. */
static void test_remembered(const struct python_layout *layout)
{
	struct python_setup setup = setup_of(layout);
	uint32_t wrong = 0, kept = 0, cut = 0, depth = 128;
	setup.define = sim_define;
	sim_layout = *layout;
	python_init(&setup);
	python_forked();
	memset(picture, 0, WORDS * 8);
	memset(&thread, 0, sizeof(thread));
	sim_depth = 0;
	for (uint32_t i = 0; i < SIM_CODES; i++)
		sim_code(i);
	for (uint32_t round = 0; round < 4000; round++) {
		sim_run();
		if (random_next() % 256 == 0)
			depth = random_next() % 2 ? 24 : 128;
		enum python_answer answer = walk(depth, random_next() % 512 == 0);
		uint32_t wanted = sim_depth < depth ? sim_depth : depth;
		bool right = count == wanted &&
			answer ==
				(!wanted                            ? PYTHON_NOTHING
						: sim_depth > depth ? PYTHON_CUT
								    : PYTHON_FRAMES);
		for (uint32_t i = 0; right && i < count; i++)
			right = sim_equal(i);
		wrong += !right;
		kept += thread.kept > 0;
		cut += answer == PYTHON_CUT;
	}
	check(wrong == 0 && kept > 2000 && cut > 100,
		"%x: chains are true, though much is remembered", layout->version);
}

/* Draw one frame, whose code object has a line table of `bytes` bytes, and return the code object
 * that the walk found. */
static uint32_t walk_of_one(uint32_t bytes)
{
	picture[SIM_CODE + 82] = bytes;
	walk(128, false);
	return count == 1 ? PYTHON_CODE_OF(frames[0].address) : 0;
}

/* Check that code objects whose tables of up to 64 bytes differ in one byte, or whose first lines
 * differ, are never taken for each other. */
static void test_tables(const struct python_layout *layout)
{
	struct python_setup setup = setup_of(layout);
	uint32_t confused = 0, lost = 0;
	setup.define = sim_define;
	sim_layout = *layout;
	python_init(&setup);
	python_forked();
	memset(picture, 0, WORDS * 8);
	memset(&thread, 0, sizeof(thread));
	sim_code(0);
	memset(sim, 0, sizeof(sim));
	sim[0].entry = true;
	sim_depth = 1;
	sim_draw();
	for (uint32_t bytes = 1; bytes <= 64; bytes++)
		for (uint32_t i = 0; i < bytes; i++) {
			uint32_t last = walk_of_one(bytes);
			lost += !last || walk_of_one(bytes) != last;
			((uint8_t *)(picture + SIM_CODE + 84))[i] ^= 1;
			uint32_t now = walk_of_one(bytes);
			confused += now == last;
			*sim_at(SIM_CODE, layout->code_first_line) ^= 1;
			confused += walk_of_one(bytes) == now;
		}
	check(!confused && !lost, "%x: each byte of a short line table counts", layout->version);
}

static void test_all_remembered(void)
{
	uint64_t table[64] = {0};
	struct python_layout layout;
	for (uint32_t version = 0x0306; version <= 0x030c; version++) {
		layout = *python_layout_of(version);
		test_remembered(&layout);
		/* A build whose members are elsewhere. */
		layout.code_name = layout.code_table + 16;
		test_remembered(&layout);
		if (layout.code_version < 0) {
			test_tables(&layout);
			test_tables(python_layout_of(version));
		}
	}
	memcpy(table, "xdebugpy", 8);
	table[1] = 0x030d00f0;
	table[23] = 72;  /* current_frame */
	table[25] = 160; /* native_thread_id */
	table[29] = 8;   /* previous */
	table[31] = 56;  /* instr_ptr */
	table[33] = 70;  /* owner */
	table[35] = 112; /* filename */
	table[37] = 128; /* qualname */
	table[38] = 136; /* linetable */
	table[39] = 68;  /* firstlineno */
	table[43] = 200; /* co_code_adaptive */
	check(!python_layout_read(table, sizeof(table), 0x030d, &layout),
		"the table of 3.13 is read");
	check(layout.tstate_native == 160, "and where it has a thread's tid");
	test_remembered(&layout);
	memset(table + 2, 0, sizeof(table) - 16);
	table[1] = 0x030e00f0;
	table[26] = 72;
	table[28] = 168;
	table[32] = 8;
	table[34] = 56;
	table[36] = 74;
	table[40] = 112;
	table[42] = 128;
	table[43] = 136;
	table[44] = 68;
	table[48] = 208;
	check(!python_layout_read(table, sizeof(table), 0x030e, &layout),
		"the table of 3.14 is read");
	check(layout.tstate_native == 168, "and where it has a thread's tid");
	test_remembered(&layout);
}

/* ---- tasks that await each other, in 3.14 ---- */

enum { TASK = 512, COROUTINE = 640, COROUTINE_WORDS = 48, COROUTINE_FRAME = 9, OUTERMOST = 448 };

static void layout_of_3_14(struct python_layout *ret_layout)
{
	uint64_t table[96] = {[1] = 0x030e00f0,
		[22] = 80,  /* bytes of a thread's state */
		[26] = 72,  /* current_frame */
		[32] = 8,   /* previous */
		[34] = 56,  /* instr_ptr */
		[36] = 74,  /* owner */
		[37] = 64,  /* stackpointer */
		[40] = 112, /* filename */
		[42] = 128, /* qualname */
		[43] = 136, /* linetable */
		[44] = 68,  /* firstlineno */
		[48] = 208, /* co_code_adaptive */
		[85] = 72,  /* gi_iframe */
		[86] = 67}; /* gi_frame_state */
	memcpy(table, "xdebugpy", 8);
	check(!python_layout_read(table, sizeof(table), 0x030e, ret_layout) &&
			ret_layout->tstate_task == 120,
		"the table of 3.14 leads to tasks");
}

static void frame_put(uint32_t at, uint32_t code, uint64_t previous)
{
	picture[at] = address(SIM_CODE + code * SIM_CODE_WORDS);
	picture[at + 1] = previous;
	picture[at + 7] = picture[at] + 208;
}

static uint32_t coroutine_at(uint32_t i)
{
	return COROUTINE + i * COROUTINE_WORDS;
}

/* Draw coroutine `i`, whose code object has the same number; it awaits another one, or nothing if
 * that is itself. */
static void coroutine_put(uint32_t i, int8_t state, uint32_t awaited)
{
	uint32_t at = coroutine_at(i), frame = at + COROUTINE_FRAME;
	picture[at + 1] = address(COROUTINE_TYPE);
	((int8_t *)(picture + at))[67] = state;
	frame_put(frame, i, 0);
	((uint8_t *)(picture + frame))[74] = 1;
	picture[frame + 8] = address(frame + 12);
	picture[frame + 11] = awaited == i ? 0 : address(coroutine_at(awaited)) | 1;
}

static void task_put(uint32_t i, uint32_t coroutine, uint64_t awaiter)
{
	uint32_t at = TASK + 32 * i;
	picture[at + 12] = awaiter;
	((uint8_t *)(picture + at))[108] = 1;
	((uint8_t *)(picture + at))[109] = 0;
	picture[at + 16] = address(coroutine_at(coroutine));
}

/* Draw task 0, which runs coroutine 0 and in it 1; task 1, suspended in 2, which awaits 3, awaits
 * task 0; task 2, in 4, awaits task 1. The event loop is code object 5. */
static void tasks_draw(void)
{
	picture[OUTERMOST] = 0;
	frame_put(OUTERMOST, 5, 0);
	picture[OUTERMOST + 16 + 1] = address(OUTERMOST);
	((uint8_t *)(picture + OUTERMOST + 16))[74] = 3; /* a shim */
	coroutine_put(0, 0, 1);
	coroutine_put(1, 0, 1);
	coroutine_put(2, -1, 3);
	coroutine_put(3, -2, 3);
	coroutine_put(4, -1, 4);
	picture[coroutine_at(0) + COROUTINE_FRAME + 1] = address(OUTERMOST + 16);
	picture[coroutine_at(1) + COROUTINE_FRAME + 1] = address(coroutine_at(0) + COROUTINE_FRAME);
	for (uint32_t i = 0; i < 3; i++)
		task_put(i, i ? 2 * i : 0, i < 2 ? address(TASK + 32 * (i + 1)) : 0);
	state_now = address(STATE);
	picture[STATE + 9] = address(coroutine_at(1) + COROUTINE_FRAME);
	picture[STATE + 15] = address(TASK);
}

/* Walk, and return true if the chain is of these code objects, the awaiting ones as capitals. */
static bool chain_is(const char *wanted)
{
	char seen[PYTHON_DEPTH_MAX + 1] = {0};
	enum python_answer answer = walk(128, false);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t line = line_of_id[PYTHON_CODE_OF(frames[i].address)], code = 0;
		while (code < SIM_CODES && sim_lines[code] != line)
			code++;
		seen[i] = (char)((frames[i].address & PYTHON_AWAITS ? 'A' : 'a') + code);
	}
	if (answer != PYTHON_FRAMES || strcmp(seen, wanted))
		printf("# %d, %s is not %s\n", (int)answer, seen, wanted);
	return answer == PYTHON_FRAMES && !strcmp(seen, wanted);
}

static void test_awaiters(void)
{
	struct python_layout layout;
	layout_of_3_14(&layout);
	struct python_setup setup = setup_of(&layout);
	setup.define = sim_define;
	python_init(&setup);
	python_forked();
	sim_layout = layout;
	memset(picture, 0, WORDS * 8);
	memset(&thread, 0, sizeof(thread));
	for (uint32_t i = 0; i < SIM_CODES; i++)
		sim_code(i);
	tasks_draw();
	check(chain_is("baDCEf") && chain_is("baDCEf"), "awaiting frames follow their task's");
	task_put(1, 2, 0);
	check(chain_is("baDCf"), "a task that nothing awaits ends them");
	((uint8_t *)(picture + TASK))[109] = 1;
	check(chain_is("baf"), "so do several that await one");
	tasks_draw();
	picture[STATE + 15] = 0;
	check(chain_is("baf"), "there are none without a running task");
	tasks_draw();
	((int8_t *)(picture + coroutine_at(2)))[67] = 0;
	check(chain_is("baf"), "a coroutine that runs does not await");
	tasks_draw();
	task_put(2, 4, address(TASK + 32));
	check(chain_is("baDCEf"), "a circle of tasks ends");
	task_put(1, 2, address(TASK));
	check(chain_is("baDCf"), "also through the running task");
	tasks_draw();
	coroutine_put(3, -1, 2);
	check(chain_is("baDCEf"), "and a circle of coroutines");
	((uint8_t *)(picture + TASK + 32))[108] = 0;
	check(chain_is("baf"), "a future is no task");
	tasks_draw();
	picture[coroutine_at(2) + 1] = address(TEXT_TYPE);
	check(chain_is("baf"), "another object is no coroutine");
	tasks_draw();
	picture[coroutine_at(2) + COROUTINE_FRAME + 8] = address(WORDS);
	check(chain_is("baCEf"), "a stack that cannot be read ends a task's frames");
	setup.coroutine_type = 0;
	python_init(&setup);
	tasks_draw();
	check(chain_is("baf"), "without the type of coroutines there are none");
}

static uint64_t any_word(void);

/* Walk tasks some of whose words are wrong, with what is remembered and without. */
static void test_wrong_awaiters(void)
{
	struct python_layout layout;
	layout_of_3_14(&layout);
	struct python_setup setup = setup_of(&layout);
	setup.define = sim_define;
	python_init(&setup);
	bool same = true;
	uint32_t awaited = 0, longest = 0;
	memset(&thread, 0, sizeof(thread));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		memset(picture + COROUTINE, 0, 5 * COROUTINE_WORDS * 8);
		tasks_draw();
		for (unsigned wrong = random_next() % 4; wrong; wrong--)
			picture[STATE + random_next() % (coroutine_at(5) - STATE)] = any_word();
		enum python_answer answer = walk(128, random_next() % 8 == 0);
		struct python_step first[PYTHON_DEPTH_MAX];
		uint32_t first_count = count;
		memcpy(first, frames, sizeof(first));
		memset(&thread, 0, sizeof(thread));
		same &= walk(128, false) == answer && count == first_count;
		for (uint32_t i = 0; i < count; i++) {
			same &= frames[i].address == first[i].address;
			awaited += (frames[i].address & PYTHON_AWAITS) != 0;
		}
		longest = count > longest ? count : longest;
		walk(128, false);
	}
	check(same && awaited > ROUNDS / 4 && longest <= PYTHON_DEPTH_MAX,
		"tasks with wrong words are read without a crash, whatever is remembered");
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

/* Walk, in each round, a true picture with some words replaced, by offsets that are often wrong. */
static void test_wrong(void)
{
	static const uint16_t versions[] = {0x0308, 0x0309, 0x030a, 0x030b, 0x030c};
	uint32_t answers[4] = {0}, longest = 0;
	bool same = true;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct python_layout layout = *python_layout_of(versions[random_next() % 5]);
		uint64_t code[2];
		true_picture(code);
		int16_t *offset = &layout.tstate_frame;
		for (unsigned wrong = random_next() % 3; wrong; wrong--)
			offset[random_next() % 16] = (int16_t)(random_next() % 256 * 8);
		for (unsigned wrong = random_next() % 12; wrong; wrong--)
			picture[random_next() % 1300] = any_word();
		if (random_next() % 16 == 0)
			state_now = any_word();
		const struct python_setup setup = setup_of(&layout);
		python_init(&setup);
		python_forked();
		refuse = random_next() % 8 == 0;
		defined_count = 0;
		uint32_t depth = (uint32_t)(random_next() % 200);
		enum python_answer answer = walk(depth, random_next() % 4 == 0);
		answers[answer]++;
		longest = count > longest ? count : longest;
		/* With and without a cache, the same picture has the same frames. */
		for (uint32_t again = 0; again < 2; again++) {
			struct python_step first[PYTHON_DEPTH_MAX];
			uint32_t first_count = count;
			memcpy(first, frames, sizeof(first));
			if (again)
				memset(&thread, 0, sizeof(thread));
			same &= walk(depth, false) == answer && count == first_count;
			for (uint32_t i = 0; i < count; i++)
				same &= refuse ||
					(frames[i].address == first[i].address &&
						frames[i].at == first[i].at);
		}
	}
	refuse = false;
	check(answers[PYTHON_WRONG] > ROUNDS / 10 && answers[PYTHON_FRAMES] > ROUNDS / 100,
		"wrong pictures are read without a crash");
	check(longest <= PYTHON_DEPTH_MAX && answers[PYTHON_CUT] > 0, "loops end at the depth");
	check(same, "what is remembered changes no answer");
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
	check(python_layout_read(table, sizeof(table), 0x030f, &layout) &&
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
		for (uint32_t i = 0; i < 16; i++)
			inside &= offset[i] >= -1 && offset[i] <= 2048;
	}
	check(inside && accepted && accepted < ROUNDS, "offsets out of range are refused");
	check(!python_layout_of(0x030e) && !python_layout_of(0x0305) && !python_layout_of(0),
		"other versions are not known");
}

int main(void)
{
	picture_map();
	test_true();
	test_unmapped();
	test_all_remembered();
	test_awaiters();
	test_wrong_awaiters();
	test_wrong();
	test_offsets();
	return tap_done();
}
