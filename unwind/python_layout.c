/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_layout.c - the members of CPython's structures that a walk reads: their offsets, by
 * version.
 */
#include <stddef.h>

#include "common/text.h"
#include "unwind/python.h"

/* Until 3.10, frames are objects, and the thread's state points to the innermost frame. */
#define FRAME_OBJECTS                                                                         \
	.tstate_frame = 24, .cframe_frame = -1, .previous = 24, .code = 32, .owner = -1,      \
	.is_entry = -1, .code_version = -1, .text = 48, .wide_text = 72, .tstate_native = -1, \
	.tstate_thread = 176
#define NO_CFRAMES .tstate_cframe = -1, .cframe_previous = -1
#define CODE_OF_3_6 .code_file = 96, .code_name = 104, .code_first_line = 36, .code_table = 112
#define CODE_OF_3_8 .code_file = 104, .code_name = 112, .code_first_line = 40, .code_table = 120

static const struct python_layout layouts[] = {
	{FRAME_OBJECTS, NO_CFRAMES, CODE_OF_3_6, .version = 0x0306, .lines = PYTHON_LNOTAB,
		.unit = 1, .instr = 120},
	{FRAME_OBJECTS, NO_CFRAMES, CODE_OF_3_6, .version = 0x0307, .lines = PYTHON_LNOTAB,
		.unit = 1, .instr = 104},
	{FRAME_OBJECTS, NO_CFRAMES, CODE_OF_3_8, .version = 0x0308, .lines = PYTHON_LNOTAB,
		.unit = 1, .instr = 104},
	{FRAME_OBJECTS, NO_CFRAMES, CODE_OF_3_8, .version = 0x0309, .lines = PYTHON_LNOTAB,
		.unit = 1, .instr = 104},
	{FRAME_OBJECTS, CODE_OF_3_8, .version = 0x030a, .lines = PYTHON_LINETABLE, .unit = 2,
		.tstate_cframe = 48, .cframe_previous = 8, .instr = 96},
	{.version = 0x030b,
		.lines = PYTHON_LOCATIONS,
		.tstate_frame = -1,
		.tstate_cframe = 56,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.previous = 48,
		.code = 32,
		.instr = 56,
		.owner = 69,
		.is_entry = 68,
		.owner_shim = 3,
		.code_start = 184,
		.code_file = 112,
		.code_name = 128,
		.code_first_line = 72,
		.code_table = 136,
		.code_version = -1,
		.text = 48,
		.wide_text = 72,
		.tstate_native = 160,
		.tstate_thread = 152},
	{.version = 0x030c,
		.lines = PYTHON_LOCATIONS,
		.tstate_frame = -1,
		.tstate_cframe = 56,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.previous = 8,
		.code = 0,
		.instr = 56,
		.owner = 70,
		.is_entry = -1,
		.owner_shim = 3,
		.code_start = 192,
		.code_file = 112,
		.code_name = 128,
		.code_first_line = 68,
		.code_table = 136,
		.code_version = 92,
		.text = 40,
		.wide_text = 56,
		.tstate_native = 144,
		.tstate_thread = 136,
		.tstate_interpreter = 16,
		.interpreter_id = 8,
		.interpreter_gil = 1040},
};

const struct python_layout *python_layout_of(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* ---- the table of offsets of 3.13 and later ---- */

/* Indices of members in the table, in words. */
struct offsets {
	uint16_t version;
	uint8_t code_tag;
	uint8_t current_frame, previous, executable, instr, owner;
	uint8_t file, name, table, first_line, code_start;
};

enum { OFFSETS_VERSION = 1, OFFSETS_FREE_THREADED = 2, OFFSETS_NUMBER = 49 };

static const struct offsets offsets[] = {
	{0x030d, 0, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43},
	{0x030e, 3, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48},
};

static const char *offsets_read(
	const struct offsets *at, const uint64_t *word, struct python_layout *ret_layout)
{
	/* The table has the members of a structure in their order. */
	const uint8_t native = at->current_frame + 2;
	const uint8_t used[] = {at->current_frame, native, at->previous, at->executable, at->instr,
		at->file, at->name, at->table, at->code_start, at->owner, at->first_line};
	for (unsigned i = 0; i < sizeof(used); i++)
		if (word[used[i]] > 2048 ||
			(word[used[i]] & 7 && used[i] != at->owner && used[i] != at->first_line))
			return "offsets out of range";
	*ret_layout = (struct python_layout){.version = at->version,
		.lines = PYTHON_LOCATIONS,
		.code_tag = at->code_tag,
		.tstate_frame = (int16_t)word[at->current_frame],
		.tstate_cframe = -1,
		.cframe_frame = -1,
		.cframe_previous = -1,
		.previous = (int16_t)word[at->previous],
		.code = (int16_t)word[at->executable],
		.instr = (int16_t)word[at->instr],
		.owner = (int16_t)word[at->owner],
		.is_entry = -1,
		.owner_shim = 3,
		.code_start = (int16_t)word[at->code_start],
		.code_file = (int16_t)word[at->file],
		.code_name = (int16_t)word[at->name],
		.code_first_line = (int16_t)word[at->first_line],
		.code_table = (int16_t)word[at->table],
		/* Not in the table: use the offset of 3.12 if the other members have those of
		 * 3.12. */
		.code_version = word[at->file] == 112 && word[at->first_line] == 68 ? 92 : -1,
		.text = 40,
		.wide_text = 56,
		.tstate_native = (int16_t)word[native],
		.tstate_thread = -1};
	return NULL;
}

/* Find the lock of an interpreter. */
static void lock_read(const struct offsets *at, const uint64_t *word, struct python_layout *l)
{
	const uint64_t interpreter = word[at->current_frame - 1], id = word[7],
		       gil = word[at->version == 0x030d ? 15 : 16];
	if (interpreter > 2048 || interpreter & 7 || id > INT16_MAX || id & 7 || gil > INT16_MAX ||
		gil & 7)
		return;
	l->tstate_interpreter = (int16_t)interpreter;
	l->interpreter_id = (int16_t)id;
	l->interpreter_gil = (int16_t)gil;
}

/* Indices of members in the table of 3.14, in words. */
enum { STATE_BYTES = 22, STACK_TOP = 37, GENERATOR_FRAME = 85, GENERATOR_STATE, OFFSETS_OF_3_14 };

/* Find what leads from the running task of asyncio to the coroutines that await it. Offsets of the
 * module _asyncio are not in the table. */
static void links_read(const void *runtime, struct python_layout *l)
{
	enum { AFTER_STATE = 40, AWAITER = 96, IS_TASK = 108, HAS_SET = 109, COROUTINE = 128 };
	uint64_t word[OFFSETS_OF_3_14];
	bytes_copy(word, runtime, sizeof(word));
	if (word[STATE_BYTES] > 2048 || word[STATE_BYTES] & 7 || word[STACK_TOP] > 1024 ||
		word[STACK_TOP] & 7 || word[GENERATOR_FRAME] > 1024 || word[GENERATOR_FRAME] & 7 ||
		word[GENERATOR_STATE] > word[GENERATOR_FRAME])
		return;
	l->tstate_task = (int16_t)(word[STATE_BYTES] + AFTER_STATE);
	l->task_awaiter = AWAITER;
	l->task_is_task = IS_TASK;
	l->task_has_set = HAS_SET;
	l->task_coroutine = COROUTINE;
	l->generator_state = (int16_t)word[GENERATOR_STATE];
	l->generator_frame = (int16_t)word[GENERATOR_FRAME];
	l->stack_top = (int16_t)word[STACK_TOP];
}

const char *python_layout_read(
	const void *runtime, uint32_t bytes, uint32_t version, struct python_layout *ret_layout)
{
	uint64_t word[OFFSETS_NUMBER];
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		if (version != offsets[i].version || bytes < sizeof(word))
			continue;
		bytes_copy(word, runtime, sizeof(word));
		if (!text_begins((const char *)word, "xdebugpy") ||
			word[OFFSETS_VERSION] >> 16 != version)
			return "no table of offsets";
		if (word[OFFSETS_FREE_THREADED])
			return "free-threaded build";
		const char *reason = offsets_read(&offsets[i], word, ret_layout);
		if (!reason)
			lock_read(&offsets[i], word, ret_layout);
		if (!reason && version == 0x030e && bytes >= OFFSETS_OF_3_14 * sizeof(word[0]))
			links_read(runtime, ret_layout);
		return reason;
	}
	return "unknown version";
}
