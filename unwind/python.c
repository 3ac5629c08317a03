/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - the Python frames of the calling thread: layouts of CPython, checked reading, and the
 * table of code objects.
 */
#define _GNU_SOURCE
#include "unwind/python.h"

#include <stddef.h>

#include "common/sys.h"
#include "common/text.h"
#include "unwind/stack.h"

/*
 * Why the memory that is read is mapped and valid: the thread state is that of the calling thread,
 * which frees it itself; frames that are linked to it hold references to their code objects, and
 * these to their texts.
 * There are three exceptions:
 * - At the end of the interpreter its thread frees the states of others: nothing is read once
 *   Py_IsFinalizing() says so, as CPython's own threads do not touch their state then.
 * - 3.11 unlinks a frame after it has cleared it, so the innermost frame or its code object may
 *   have been freed. Freed memory stays readable until a call unmaps it (`unmapped`): then the
 *   kernel is asked about each page again. A code object without references is not used.
 * - Offsets may be wrong. Every address is checked before it is followed, and a definition requires
 *   the right types.
 */

#define PAGE_SHIFT 12
#define TABLE_BITS 16
#define TABLE_ENTRIES (1u << TABLE_BITS)
#define TABLE_PROBES 64u
#define BUSY UINT32_MAX
#define WAIT_TRIES 2000u
#define STEPS_MAX 1024u /* frames followed beyond the depth, to find the C frame of the last ones */
#define TABLE_BYTES_MAX 60000u
#define WHOLE_BYTES 64u
#define CHARACTERS_MAX 65536u

/* Offsets that all versions share. */
enum {
	OBJECT_REFERENCES = 0,
	OBJECT_TYPE = 8,
	SIZE = 16, /* length of str and bytes */
	TEXT_STATE = 32,
	BYTES_BEGIN = 32
};

static const struct python_layout layouts[] = {
	{.version = 0x0308,
		.lines = PYTHON_LNOTAB,
		.unit = 1,
		.tstate_frame = 24,
		.tstate_cframe = -1,
		.cframe_frame = -1,
		.cframe_previous = -1,
		.previous = 24,
		.code = 32,
		.instr = 104,
		.owner = -1,
		.is_entry = -1,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_table = 120,
		.text = 48,
		.wide_text = 72},
	{.version = 0x0309,
		.lines = PYTHON_LNOTAB,
		.unit = 1,
		.tstate_frame = 24,
		.tstate_cframe = -1,
		.cframe_frame = -1,
		.cframe_previous = -1,
		.previous = 24,
		.code = 32,
		.instr = 104,
		.owner = -1,
		.is_entry = -1,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_table = 120,
		.text = 48,
		.wide_text = 72},
	{.version = 0x030a,
		.lines = PYTHON_LINETABLE,
		.unit = 2,
		.tstate_frame = 24,
		.tstate_cframe = 48,
		.cframe_frame = -1,
		.cframe_previous = 8,
		.previous = 24,
		.code = 32,
		.instr = 96,
		.owner = -1,
		.is_entry = -1,
		.code_file = 104,
		.code_name = 112,
		.code_first_line = 40,
		.code_table = 120,
		.text = 48,
		.wide_text = 72},
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
		.text = 48,
		.wide_text = 72},
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
		.text = 40,
		.wide_text = 56},
};

/* A code object that has been seen. `stamp`: epoch << 32 | id, BUSY while it is being defined. */
struct entry {
	uint64_t code;
	uint64_t stamp;
	uint64_t file, name, table, mark;
};

static struct python_setup setup;
static struct {
	uint32_t frame, cframe, code;
} bytes_read; /* how much of each structure is read, from its beginning */
static struct entry *entries;
static uint32_t epoch = 1;
static uint32_t last_id;

const struct python_layout *python_layout_of(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* ---- the table of offsets of 3.13 ---- */

enum {
	OFFSETS_VERSION = 1,
	OFFSETS_FREE_THREADED = 2,
	OFFSETS_CURRENT_FRAME = 23,
	OFFSETS_PREVIOUS = 29,
	OFFSETS_EXECUTABLE = 30,
	OFFSETS_INSTR = 31,
	OFFSETS_OWNER = 33,
	OFFSETS_FILE = 35,
	OFFSETS_NAME = 37,
	OFFSETS_TABLE = 38,
	OFFSETS_FIRST_LINE = 39,
	OFFSETS_CODE_START = 43,
	OFFSETS_NUMBER
};

const char *python_layout_read(
	const void *runtime, uint32_t bytes, uint32_t version, struct python_layout *ret_layout)
{
	uint64_t word[OFFSETS_NUMBER];
	if (bytes < sizeof(word) || version != 0x030d)
		return "unknown version";
	bytes_copy(word, runtime, sizeof(word));
	if (!text_begins((const char *)word, "xdebugpy") || word[OFFSETS_VERSION] >> 16 != 0x030d)
		return "no table of offsets";
	if (word[OFFSETS_FREE_THREADED])
		return "free-threaded build";
	const uint32_t used[] = {OFFSETS_CURRENT_FRAME, OFFSETS_PREVIOUS, OFFSETS_EXECUTABLE,
		OFFSETS_INSTR, OFFSETS_OWNER, OFFSETS_FILE, OFFSETS_NAME, OFFSETS_TABLE,
		OFFSETS_FIRST_LINE, OFFSETS_CODE_START};
	for (unsigned i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		if (word[used[i]] > 2048 ||
			(word[used[i]] & 7 && used[i] != OFFSETS_OWNER &&
				used[i] != OFFSETS_FIRST_LINE))
			return "offsets out of range";
	*ret_layout = (struct python_layout){.version = 0x030d,
		.lines = PYTHON_LOCATIONS,
		.tstate_frame = (int16_t)word[OFFSETS_CURRENT_FRAME],
		.tstate_cframe = -1,
		.cframe_frame = -1,
		.cframe_previous = -1,
		.previous = (int16_t)word[OFFSETS_PREVIOUS],
		.code = (int16_t)word[OFFSETS_EXECUTABLE],
		.instr = (int16_t)word[OFFSETS_INSTR],
		.owner = (int16_t)word[OFFSETS_OWNER],
		.is_entry = -1,
		.owner_shim = 3,
		.code_start = (int16_t)word[OFFSETS_CODE_START],
		.code_file = (int16_t)word[OFFSETS_FILE],
		.code_name = (int16_t)word[OFFSETS_NAME],
		.code_first_line = (int16_t)word[OFFSETS_FIRST_LINE],
		.code_table = (int16_t)word[OFFSETS_TABLE],
		.text = 40,
		.wide_text = 56};
	return NULL;
}

/* Return the end of the 8-byte word that contains the greatest offset. */
static uint32_t end_of(const int16_t *offsets, unsigned count)
{
	int16_t last = 0;
	for (unsigned i = 0; i < count; i++)
		last = offsets[i] > last ? offsets[i] : last;
	return ((uint32_t)last & ~7u) + 8;
}

void python_init(const struct python_setup *given)
{
	const struct python_layout *l = &given->layout;
	const int16_t frame[] = {l->previous, l->code, l->instr, l->owner, l->is_entry},
		      cframe[] = {l->cframe_frame, l->cframe_previous},
		      code[] = {l->code_file, l->code_name, l->code_first_line, l->code_table,
			      OBJECT_TYPE};
	setup = *given;
	bytes_read.frame = end_of(frame, sizeof(frame) / sizeof(frame[0]));
	bytes_read.cframe = end_of(cframe, sizeof(cframe) / sizeof(cframe[0]));
	bytes_read.code = end_of(code, sizeof(code) / sizeof(code[0]));
}

void python_forked(void)
{
	epoch++;
	last_id = 0;
}

/* ---- checked reading ---- */

static __attribute__((noinline)) bool page_ask(struct python_thread *t, uint64_t page)
{
	if (!page || !stack_readable(page << PAGE_SHIFT))
		return false;
	t->pages[page % PYTHON_PAGE_SETS][t->next_way++ % PYTHON_PAGE_WAYS] = page + 1;
	return true;
}

static inline bool page_readable(struct python_thread *t, uint64_t page)
{
	const uint64_t *set = t->pages[page % PYTHON_PAGE_SETS];
	if (__builtin_expect(set[0] == page + 1, 1))
		return true;
	for (unsigned i = 1; i < PYTHON_PAGE_WAYS; i++)
		if (set[i] == page + 1)
			return true;
	return page_ask(t, page);
}

/* Return true if `bytes` (1 to a page) at `address`, a multiple of 8, are readable. */
static inline bool readable(struct python_thread *t, uint64_t address, uint32_t bytes)
{
	uint64_t first = address >> PAGE_SHIFT, last = (address + bytes - 1) >> PAGE_SHIFT;
	return !(address & 7) && page_readable(t, first) &&
		(__builtin_expect(last == first, 1) || page_readable(t, last));
}

static bool long_readable(struct python_thread *t, uint64_t address, uint64_t bytes)
{
	for (; bytes > STACK_PAGE_BYTES; bytes -= STACK_PAGE_BYTES, address += STACK_PAGE_BYTES)
		if (!readable(t, address, STACK_PAGE_BYTES))
			return false;
	return !bytes || readable(t, address & ~UINT64_C(7), (uint32_t)bytes + (address & 7));
}

/* What is readable may be the own memory of a sanitizer. */
#define UNCHECKED __attribute__((no_sanitize("address"))) static inline

UNCHECKED uint64_t word(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

UNCHECKED uint32_t half(uint64_t address)
{
	return *(const volatile uint32_t *)(uintptr_t)address;
}

UNCHECKED uint16_t quarter(uint64_t address)
{
	return *(const volatile uint16_t *)(uintptr_t)address;
}

UNCHECKED uint8_t byte(uint64_t address)
{
	return *(const volatile uint8_t *)(uintptr_t)address;
}

/* ---- code objects ---- */

static struct entry *table(void)
{
	struct entry *have = __atomic_load_n(&entries, __ATOMIC_ACQUIRE), *none = NULL;
	if (have)
		return have;
	have = sys_mmap_beyond_data(TABLE_ENTRIES * sizeof(*have));
	if (have &&
		!__atomic_compare_exchange_n(
			&entries, &none, have, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
		sys_munmap(have, TABLE_ENTRIES * sizeof(*have));
		have = none;
	}
	return have;
}

/* Return the entry of a code object, which is added if there is none; NULL = the table is full. */
static inline struct entry *entry_of(uint64_t code)
{
	uint64_t hash = (code >> 4) * 0x9e3779b97f4a7c15ull >> (64 - TABLE_BITS);
	for (uint32_t i = 0; i < TABLE_PROBES; i++) {
		struct entry *e = &entries[(hash + i) % TABLE_ENTRIES];
		uint64_t key = __atomic_load_n(&e->code, __ATOMIC_RELAXED);
		if (__builtin_expect(key == code, 1))
			return e;
		if (!key &&
			(__atomic_compare_exchange_n(
				 &e->code, &key, code, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
				key == code))
			return e;
	}
	return NULL;
}

/*
 * Return a checksum of a code object's first line and line table. It distinguishes code objects that
 * have the same address and words: programs that execute generated code get the same memory for it
 * repeatedly. Tables of up to 64 bytes are covered whole, longer ones at four places. Objects are
 * allocated in whole words.
 */
static inline uint64_t mark_of(uint64_t code, uint64_t lines)
{
	uint64_t bytes = word(lines + SIZE), last = bytes ? (bytes - 1) & ~UINT64_C(7) : 0;
	uint64_t mark = bytes << 32 ^ half(code + (uint64_t)setup.layout.code_first_line);
	if (!bytes || bytes > INT32_MAX)
		return mark;
	uint64_t step = bytes <= WHOLE_BYTES ? 8 : last / 3 & ~UINT64_C(7);
	for (uint64_t at = 0; at <= last; at += step)
		mark = (mark << 11 | mark >> 53) ^ word(lines + BYTES_BEGIN + at);
	return mark ^ word(lines + BYTES_BEGIN + last) * 0x9e3779b97f4a7c15ull;
}

static uint32_t utf8_put(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	uint32_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (uint32_t i = bytes; --i > 0; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)((bytes == 2 ? 0xc0u : bytes == 3 ? 0xe0u : 0xf0u) | c);
	return bytes;
}

/* Copy a str as UTF-8, cut at `room` bytes. Returns false if it is not a str. */
static bool text_copy(
	struct python_thread *t, uint64_t text, char *out, uint32_t room, uint32_t *ret_bytes)
{
	if (!readable(t, text, TEXT_STATE + 8) || word(text + OBJECT_TYPE) != setup.text_type)
		return false;
	uint64_t count = word(text + SIZE);
	uint32_t state = half(text + TEXT_STATE), kind = state >> 2 & 7, used = 0;
	bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
	uint64_t at = text + (uint64_t)(is_ascii ? setup.layout.text : setup.layout.wide_text);
	if (!is_compact || (kind != 1 && kind != 2 && kind != 4) || count > CHARACTERS_MAX ||
		!long_readable(t, at, count * kind))
		return false;
	for (uint64_t i = 0; i < count && used + 4 <= room; i++, at += kind) {
		uint32_t c = kind == 1 ? byte(at) : kind == 2 ? quarter(at) : half(at);
		used += utf8_put(out + used, c > 0x10ffff ? 0xfffd : c);
	}
	*ret_bytes = used;
	return true;
}

enum known { KNOWN, NOT_NOW, AGAIN, NOT_TRUE };

/* Give the code object to `define`. */
static enum known define(
	struct python_thread *t, uint64_t code, const struct entry *e, uint32_t id, void *arg)
{
	struct python_code c = {.id = id,
		.first_line = half(code + (uint64_t)setup.layout.code_first_line),
		.file = t->text[0],
		.name = t->text[1]};
	if (word(code + OBJECT_TYPE) != setup.code_type ||
		!text_copy(t, e->file, t->text[0], sizeof(t->text[0]), &c.file_bytes) ||
		!text_copy(t, e->name, t->text[1], sizeof(t->text[1]), &c.name_bytes) ||
		word(e->table + OBJECT_TYPE) != setup.bytes_type)
		return NOT_TRUE;
	uint64_t bytes = word(e->table + SIZE);
	c.is_cut = bytes > TABLE_BYTES_MAX;
	c.table_bytes = c.is_cut ? TABLE_BYTES_MAX : (uint32_t)bytes;
	c.table = (const char *)(uintptr_t)(e->table + BYTES_BEGIN);
	if (!long_readable(t, e->table + BYTES_BEGIN, c.table_bytes))
		return NOT_TRUE;
	return setup.define(arg, &c) ? KNOWN : NOT_NOW;
}

/* Read the words of a code object that identify it. */
static bool words_read(struct python_thread *t, uint64_t code, struct entry *ret)
{
	const struct python_layout *l = &setup.layout;
	if (!readable(t, code, bytes_read.code))
		return false;
	ret->file = word(code + (uint64_t)l->code_file);
	ret->name = word(code + (uint64_t)l->code_name);
	ret->table = word(code + (uint64_t)l->code_table);
	if (!readable(t, ret->table, BYTES_BEGIN + 8))
		return false;
	uint64_t bytes = word(ret->table + SIZE);
	return bytes < INT32_MAX && long_readable(t, ret->table, BYTES_BEGIN + bytes);
}

/* Define a code object, or wait until another thread has defined it. */
static __attribute__((noinline)) enum known code_learn(struct python_thread *t, struct entry *e,
	uint64_t code, uint64_t stamp, void *arg, uint32_t *ret_id)
{
	uint64_t busy = (uint64_t)epoch << 32 | BUSY;
	struct entry fresh;
	if (stamp == busy) {
		for (uint32_t i = 0; i < WAIT_TRIES; i++) {
			if (__atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE) != busy)
				break;
			SYS0(SYS_sched_yield);
		}
		return AGAIN;
	}
	if (!words_read(t, code, &fresh))
		return NOT_TRUE;
	if (!__atomic_compare_exchange_n(
		    &e->stamp, &stamp, busy, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return AGAIN;
	uint32_t id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	enum known known = id < PYTHON_CODES_MAX ? define(t, code, &fresh, id, arg) : NOT_NOW;
	if (id >= PYTHON_CODES_MAX)
		__atomic_sub_fetch(&last_id, 1, __ATOMIC_RELAXED);
	e->file = fresh.file;
	e->name = fresh.name;
	e->table = fresh.table;
	e->mark = known == KNOWN ? mark_of(code, fresh.table) : 0;
	__atomic_store_n(
		&e->stamp, known == KNOWN ? (uint64_t)epoch << 32 | id : 0, __ATOMIC_RELEASE);
	*ret_id = known == KNOWN ? id : 0;
	return known;
}

/* Find the id of a code object; 0 = there is none for it now. */
static inline enum known code_find(
	struct python_thread *t, uint64_t code, bool unmapped, void *arg, uint32_t *ret_id)
{
	const struct python_layout *l = &setup.layout;
	struct entry *e = code & 7 ? NULL : entry_of(code), now;
	*ret_id = 0;
	if (!e)
		return code & 7 ? NOT_TRUE : NOT_NOW;
	for (uint32_t tries = 0; tries < 4; tries++) {
		uint64_t stamp = __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE);
		if (__builtin_expect(stamp >> 32 == epoch && (uint32_t)stamp != BUSY, 1)) {
			if (unmapped && !words_read(t, code, &now))
				return NOT_TRUE;
			if ((int64_t)word(code + OBJECT_REFERENCES) <= 0)
				return NOT_NOW;
			uint64_t lines = word(code + (uint64_t)l->code_table);
			bool same = e->file == word(code + (uint64_t)l->code_file) &&
				e->name == word(code + (uint64_t)l->code_name) &&
				e->table == lines && e->mark == mark_of(code, lines);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&e->stamp, __ATOMIC_RELAXED) != stamp)
				continue;
			if (__builtin_expect(same, 1)) {
				*ret_id = (uint32_t)stamp;
				return KNOWN;
			}
		}
		enum known known = code_learn(t, e, code, stamp, arg, ret_id);
		if (known != AGAIN)
			return known;
	}
	return NOT_NOW;
}

/* ---- frames ---- */

static uint64_t instruction_of(uint64_t frame, uint64_t code)
{
	const struct python_layout *l = &setup.layout;
	uint64_t at = frame + (uint64_t)l->instr;
	int64_t bytes = l->unit ? (int64_t)(int32_t)half(at) * l->unit
				: (int64_t)(word(at) - (code + (uint64_t)l->code_start));
	return bytes < 0 ? 0 : (uint64_t)bytes / 2 + 1;
}

struct walk {
	struct python_thread *t;
	uint64_t frame, cframe;
	uint32_t depth;
	uint32_t open; /* frames whose C frame is not known yet */
	bool unmapped, cut;
	void *arg;
};

static bool walk_begin(struct walk *w, uint64_t state)
{
	const struct python_layout *l = &setup.layout;
	if (l->tstate_frame >= 0) {
		if (!readable(w->t, state + (uint64_t)l->tstate_frame, 8))
			return false;
		w->frame = word(state + (uint64_t)l->tstate_frame);
	}
	if (l->tstate_cframe < 0)
		return true;
	if (!readable(w->t, state + (uint64_t)l->tstate_cframe, 8))
		return false;
	w->cframe = word(state + (uint64_t)l->tstate_cframe);
	if (l->cframe_frame < 0)
		return true;
	if (!w->cframe || !readable(w->t, w->cframe, bytes_read.cframe))
		return false;
	w->frame = word(w->cframe + (uint64_t)l->cframe_frame);
	return true;
}

/* Step to the next outer C frame. */
static inline bool cframe_leave(struct walk *w)
{
	if (setup.layout.tstate_cframe < 0)
		return true;
	if (!readable(w->t, w->cframe, bytes_read.cframe))
		return false;
	w->cframe = word(w->cframe + (uint64_t)setup.layout.cframe_previous);
	return true;
}

static inline void shim_pass(struct walk *w, uint64_t shim)
{
	for (; w->open < w->t->count; w->open++)
		w->t->frames[w->open].at = shim;
}

/* Add the frame. */
static inline enum known frame_add(struct walk *w)
{
	const struct python_layout *l = &setup.layout;
	struct python_frame *f = &w->t->frames[w->t->count];
	uint64_t code = word(w->frame + (uint64_t)l->code);
	uint32_t id;
	enum known known = code_find(w->t, code, w->unmapped, w->arg, &id);
	if (known == NOT_TRUE)
		return NOT_TRUE;
	f->address = PYTHON_ADDRESS(id, instruction_of(w->frame, code));
	f->at = w->cframe;
	w->t->count++;
	return KNOWN;
}

/* Follow the frames outward. Returns false if what is read cannot be a frame. */
static bool walk(struct walk *w)
{
	const struct python_layout *l = &setup.layout;
	for (uint32_t steps = 0; w->frame; steps++) {
		uint64_t frame = w->frame;
		if (steps > w->depth + STEPS_MAX)
			break;
		if (!readable(w->t, frame, bytes_read.frame))
			return false;
		uint8_t owner = l->owner >= 0 ? byte(frame + (uint64_t)l->owner) : 0;
		bool shim = l->owner >= 0 && owner >= l->owner_shim;
		if (owner > 8)
			return false;
		if (!shim && w->t->count == w->depth) {
			w->cut = true;
			if (l->tstate_cframe >= 0 || l->owner < 0)
				break;
		} else if (!shim && frame_add(w) != KNOWN) {
			return false;
		}
		if (shim && l->tstate_cframe < 0)
			shim_pass(w, frame);
		if (shim && w->cut)
			break;
		bool leaves = l->owner < 0 || shim ||
			(l->is_entry >= 0 && byte(frame + (uint64_t)l->is_entry));
		if (leaves && !cframe_leave(w))
			return false;
		w->frame = word(frame + (uint64_t)l->previous);
	}
	return true;
}

enum python_answer python_walk(struct python_thread *t, uint32_t depth, bool unmapped, void *arg)
{
	struct walk w = {.t = t, .unmapped = unmapped, .arg = arg};
	w.depth = depth > PYTHON_DEPTH_MAX ? PYTHON_DEPTH_MAX : depth;
	t->count = 0;
	t->one_each = setup.layout.owner < 0;
	uint64_t state = setup.thread_state();
	if (!state || setup.is_finalizing() || !table())
		return PYTHON_NOTHING;
	if (__builtin_expect(unmapped, 0))
		for (unsigned i = 0; i < PYTHON_PAGE_SETS; i++)
			for (unsigned n = 0; n < PYTHON_PAGE_WAYS; n++)
				t->pages[i][n] = 0;
	if (!walk_begin(&w, state) || !walk(&w)) {
		t->count = 0;
		return PYTHON_WRONG;
	}
	return !t->count ? PYTHON_NOTHING : w.cut ? PYTHON_CUT : PYTHON_FRAMES;
}
