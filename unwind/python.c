/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - the Python frames of the calling thread: layouts of CPython, checked reading, and the
 * table of code objects.
 */
#define _GNU_SOURCE
#include "unwind/python.h"

#include <stddef.h>

#include "common/sys.h"
#include "unwind/python_await.h"
#include "unwind/python_memory.h"
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

#define TABLE_BITS 16
#define TABLE_ENTRIES (1u << TABLE_BITS)
#define TABLE_PROBES 64u
#define BUSY UINT32_MAX
#define WAIT_TRIES 2000u
#define TABLE_BYTES_MAX 60000u
#define WHOLE_BYTES 64u
#define MIX 0x9e3779b97f4a7c15ull
#define CHARACTERS_MAX 65536u
#define NO_FRAME 1u /* the address of no frame */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Offsets that all versions share. */
enum {
	OBJECT_REFERENCES = 0,
	OBJECT_TYPE = 8,
	SIZE = 16, /* length of str and bytes */
	TEXT_STATE = 32,
	BYTES_BEGIN = 32
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
/* Where the words are that a walk reads. A version without one of the last three has 0 there. */
struct spots {
	uint64_t previous, code, instr, instr_mask;
	uint64_t tag, tag_mask; /* owner and is_entry */
	uint64_t file, name, lines, first_line;
	uint64_t version, cframe_previous, shims;
};

static struct spots spots;

/*
 * The spots of versions as they are usually built. Where spots_find() finds the same, a walk uses
 * these, which are constants of the code that compares.
 */
enum {
	SPOTS_3_7,
	SPOTS_3_9, /* and 3.8 */
	SPOTS_3_10,
	SPOTS_3_11,
	SPOTS_3_12,
	SPOTS_3_13,
	SPOTS_3_14,
	SPOTS_OTHER
};
#define SPOTS_OF_OBJECTS .previous = 24, .code = 32, .instr_mask = UINT32_MAX
#define SPOTS_OF_CODE_3_8 .file = 104, .name = 112, .lines = 120, .first_line = 40
#define SPOTS_OF_CODE_3_12 \
	.file = 112, .name = 128, .lines = 136, .first_line = 68, .version = 92, .shims = 1
#define SPOTS_OF_FRAME_3_12 .code = 0, .previous = 8, .instr = 56, .instr_mask = UINT64_MAX
static const struct spots usual_spots[SPOTS_OTHER] = {
	[SPOTS_3_7] = {SPOTS_OF_OBJECTS, .instr = 104, .file = 96, .name = 104, .lines = 112,
		.first_line = 36},
	[SPOTS_3_9] = {SPOTS_OF_OBJECTS, SPOTS_OF_CODE_3_8, .instr = 104},
	[SPOTS_3_10] = {SPOTS_OF_OBJECTS, SPOTS_OF_CODE_3_8, .instr = 96, .cframe_previous = 8},
	[SPOTS_3_11] = {.previous = 48,
		.code = 32,
		.instr = 56,
		.instr_mask = UINT64_MAX,
		.tag = 64,
		.tag_mask = UINT64_C(0xffff) << 32,
		.file = 112,
		.name = 128,
		.lines = 136,
		.first_line = 72,
		.cframe_previous = 16,
		.shims = 1},
	[SPOTS_3_12] = {SPOTS_OF_FRAME_3_12, SPOTS_OF_CODE_3_12, .tag = 64,
		.tag_mask = UINT64_C(0xff) << 48, .cframe_previous = 8},
	[SPOTS_3_13] = {SPOTS_OF_FRAME_3_12, SPOTS_OF_CODE_3_12, .tag = 64,
		.tag_mask = UINT64_C(0xff) << 48},
	[SPOTS_3_14] = {SPOTS_OF_FRAME_3_12, SPOTS_OF_CODE_3_12, .tag = 72,
		.tag_mask = UINT64_C(0xff) << 16},
};
static uint32_t which_spots;
static struct entry *entries;
static uint32_t epoch = 1;
static uint32_t last_id;

/* Return the end of the 8-byte word that contains the greatest offset. */
static uint32_t end_of(const int16_t *offsets, unsigned count)
{
	int16_t last = 0;
	for (unsigned i = 0; i < count; i++)
		last = offsets[i] > last ? offsets[i] : last;
	return ((uint32_t)last & ~7u) + 8;
}

static uint64_t byte_mask(int16_t offset)
{
	return UINT64_C(0xff) << (offset & 7) * 8;
}

static bool spots_equal(const struct spots *a, const struct spots *b)
{
	const uint64_t *of_a = &a->previous, *of_b = &b->previous;
	uint64_t differs = 0;
	for (unsigned i = 0; i < sizeof(*a) / sizeof(*of_a); i++)
		differs |= of_a[i] ^ of_b[i];
	return !differs;
}

static void spots_find(const struct python_layout *l)
{
	spots = (struct spots){.previous = (uint64_t)l->previous,
		.code = (uint64_t)l->code,
		.instr = (uint64_t)l->instr & ~7u,
		.instr_mask = l->unit ? UINT32_MAX : UINT64_MAX,
		.file = (uint64_t)l->code_file,
		.name = (uint64_t)l->code_name,
		.lines = (uint64_t)l->code_table,
		.first_line = (uint64_t)l->code_first_line,
		.version = l->code_version < 0 ? 0 : (uint64_t)l->code_version,
		.cframe_previous = l->tstate_cframe < 0 ? 0 : (uint64_t)l->cframe_previous,
		.shims = l->owner_shim > 0};
	if (l->owner >= 0) {
		spots.tag = (uint64_t)l->owner & ~7u;
		spots.tag_mask = byte_mask(l->owner);
		if (l->is_entry >= 0 && (uint64_t)l->is_entry >> 3 == spots.tag >> 3)
			spots.tag_mask |= byte_mask(l->is_entry);
	}
	which_spots = 0;
	while (which_spots < SPOTS_OTHER && !spots_equal(&spots, &usual_spots[which_spots]))
		which_spots++;
}

void python_init(const struct python_setup *given)
{
	const struct python_layout *l = &given->layout;
	const int16_t frame[] = {l->previous, l->code, l->instr, l->owner, l->is_entry},
		      cframe[] = {l->cframe_frame, l->cframe_previous},
		      code[] = {l->code_file, l->code_name, l->code_first_line, l->code_table,
			      l->code_version, OBJECT_TYPE};
	setup = *given;
	epoch++;
	spots_find(l);
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

static bool long_readable(struct python_thread *t, uint64_t address, uint64_t bytes)
{
	for (; bytes > STACK_PAGE_BYTES; bytes -= STACK_PAGE_BYTES, address += STACK_PAGE_BYTES)
		if (!readable(t, address, STACK_PAGE_BYTES))
			return false;
	return !bytes || readable(t, address & ~UINT64_C(7), (uint32_t)bytes + (address & 7));
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
 * Return a checksum of a code object's first line and line table, which has `bytes` bytes. It
 * distinguishes code objects that have the same address and words: programs that execute generated
 * code get the same memory for it repeatedly. Tables of up to 64 bytes are covered whole, longer
 * ones at four places. Objects are allocated in whole words.
 */
static ALWAYS_INLINE uint64_t checksum_of(uint64_t first_line, uint64_t lines, uint64_t bytes)
{
	uint64_t mark = bytes << 32 ^ first_line, begin = lines + BYTES_BEGIN;
	if (__builtin_expect(bytes > WHOLE_BYTES, 0)) {
		uint64_t last = (bytes - 1) & ~UINT64_C(7);
		mark = mark * MIX + glance(begin);
		mark = mark * MIX + glance(begin + (last >> 2 & ~UINT64_C(7)));
		mark = mark * MIX + glance(begin + (last >> 1 & ~UINT64_C(7)));
		return mark * MIX + glance(begin + last);
	}
	for (uint64_t at = begin; at < begin + bytes; at += 8)
		mark = mark * MIX + glance(at);
	return mark;
}

/* Return the number of a code object, where the version has one, or else its checksum. */
static inline uint64_t mark_of(uint64_t code, uint64_t lines)
{
	uint32_t version = spots.version ? half(code + spots.version) : 0;
	uint64_t bytes = word(lines + SIZE);
	if (version)
		return version;
	if (bytes >= INT32_MAX)
		return bytes;
	return checksum_of(half(code + spots.first_line), lines, bytes);
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

/* Copy a str as UTF-8, cut at `room` bytes. Return false if it is not a str. */
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

/* Pass the code object to setup.define(). */
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
	if (half(code + OBJECT_REFERENCES) == 0)
		return NOT_NOW;
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
			if (half(code + OBJECT_REFERENCES) == 0)
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

/* ---- the last walk ---- */

/*
 * Why a remembered step may be believed: it is a function of the words that were read. So when the
 * interpreter leads to the same frame again, and all words still have their values, a walk would go
 * the same way. The words are read in the order of a walk, each structure only once the word that
 * leads to it has been compared, so all that is read is what a walk would read, too.
 */

static inline uint32_t place_of(uint64_t frame)
{
	return (uint32_t)((frame >> 3) * 0x9e3779b97f4a7c15ull >> 55) % PYTHON_PLACES;
}

/* Return true if the code object is as it was. */
static ALWAYS_INLINE bool code_same(const struct python_step *s, const struct spots at)
{
	uint64_t code = s->code;
	if (at.version)
		return glance(code + at.lines) == s->lines && half(code + at.version) == s->mark;
	uint64_t differs = (glance(code + at.file) ^ s->file) | (glance(code + at.name) ^ s->name) |
		(glance(code + at.lines) ^ s->lines);
	if (__builtin_expect(differs != 0, 0) || glance(s->lines + SIZE) != s->table_bytes)
		return false;
	return checksum_of(half(code + at.first_line), s->lines, s->table_bytes) == s->mark;
}

/* Return true if the frame and its code object are as they were. */
static ALWAYS_INLINE bool step_same(const struct python_step *s, const struct spots at)
{
	uint64_t frame = s->frame;
	uint64_t differs = (glance(frame + at.previous) ^ s->previous) |
		(glance(frame + at.code) ^ s->executable) |
		((glance(frame + at.instr) ^ s->instr) & at.instr_mask);
	if (at.tag_mask)
		differs |= (glance(frame + at.tag) ^ s->tag) & at.tag_mask;
	if (__builtin_expect(differs != 0, 0))
		return false;
	return s->address ? code_same(s, at) : at.shims; /* a shim has no code object */
}

struct walk {
	struct python_thread *t;
	uint64_t frame, cframe;
	uint32_t depth;
	uint32_t last;  /* steps of the last walk */
	uint32_t known; /* those that may be in this chain */
	uint32_t keep;  /* those that are in it */
	uint32_t fresh; /* steps walked, the innermost at the end of `steps` */
	uint32_t fresh_frames;
	uint32_t awaiters; /* of t->awaiters that the walk has come to */
	bool unmapped, more;
	void *arg;
};

/*
 * Return true if the steps from `i` outward are as remembered, up to the depth and on to the next
 * shim, which says where the last frames run. Otherwise lower w->known to the number of steps that
 * may still be. The caller has checked that step `i` has the present frame.
 */
static ALWAYS_INLINE bool remembered_by(struct walk *w, uint32_t i, const struct spots at)
{
	const struct python_step *first = w->t->steps, *s = first + i;
	int64_t beyond = (int64_t)s->frames + w->fresh_frames - w->depth;
	/* Without shims, as many frames as steps are outside of a step. */
	const struct python_step *last = first + (at.shims || beyond < 0 ? 0 : beyond);
	for (; step_same(s, at); s--) {
		if (at.shims && !s->address && (s == first ? 0 : s[-1].frames) <= beyond)
			return true;
		if (s <= last && (!w->t->more || (!at.shims && beyond >= 0)))
			return true;
		if (s <= last ||
			(at.cframe_previous && s->leaves &&
				word(s->at + at.cframe_previous) != s[-1].at))
			break;
	}
	w->known = (uint32_t)(s - first);
	return false;
}

/* Compile the comparison for each of the usual spots. */
static bool remembered_steps(struct walk *w, uint32_t i)
{
	switch (which_spots) {
	case SPOTS_3_7:
		return remembered_by(w, i, usual_spots[SPOTS_3_7]);
	case SPOTS_3_9:
		return remembered_by(w, i, usual_spots[SPOTS_3_9]);
	case SPOTS_3_10:
		return remembered_by(w, i, usual_spots[SPOTS_3_10]);
	case SPOTS_3_11:
		return remembered_by(w, i, usual_spots[SPOTS_3_11]);
	case SPOTS_3_12:
		return remembered_by(w, i, usual_spots[SPOTS_3_12]);
	case SPOTS_3_13:
		return remembered_by(w, i, usual_spots[SPOTS_3_13]);
	case SPOTS_3_14:
		return remembered_by(w, i, usual_spots[SPOTS_3_14]);
	default:
		return remembered_by(w, i, spots);
	}
}

static bool remembered(struct walk *w, uint32_t i)
{
	const struct python_step *s = &w->t->steps[i];
	w->known = i;
	if (setup.layout.tstate_cframe >= 0 && s->at != w->cframe)
		return false;
	/* Memory of a code object that the frame does not hold any more may be unmapped. */
	if (!w->fresh && s->address &&
		(word(w->frame + spots.code) != s->executable ||
			half(s->code + OBJECT_REFERENCES) == 0))
		return false;
	return remembered_steps(w, i);
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

static bool walk_begin(struct walk *w, uint64_t state)
{
	const struct python_layout *l = &setup.layout;
	if (l->tstate_frame >= 0) {
		if (!readable(w->t, state + (uint64_t)l->tstate_frame, 8))
			return false;
		w->frame = word(state + (uint64_t)l->tstate_frame);
	}
	/* A step is remembered only if the frames outside of it are the same. */
	if (l->tstate_task && setup.coroutine_type &&
		!python_awaiters_find(w->t, l, setup.coroutine_type, state))
		w->known = 0;
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

/* Return true if the last walk found the same function in this frame, as it often does: then only
 * the instruction or the caller differs. */
static bool step_again(const struct walk *w, const struct python_step *last, struct python_step *s)
{
	const struct spots at = spots;
	uint64_t frame = w->frame;
	if (last->frame != frame || !last->address || last->previous == NO_FRAME ||
		word(frame + at.code) != last->executable ||
		(!w->fresh && half(last->code + OBJECT_REFERENCES) == 0) ||
		(word(frame + at.tag) ^ last->tag) & at.tag_mask)
		return false;
	if (!code_same(last, at))
		return false;
	*s = *last;
	s->previous = word(frame + at.previous);
	s->instr = word(frame + at.instr);
	s->at = w->cframe;
	s->address = PYTHON_ADDRESS(PYTHON_CODE_OF(last->address), instruction_of(frame, s->code));
	return true;
}

/* Read the frame and find its code object. */
static enum known step_read(struct walk *w, struct python_step *s)
{
	const struct python_layout *l = &setup.layout;
	uint64_t frame = w->frame;
	uint32_t id;
	if (!readable(w->t, frame, bytes_read.frame))
		return NOT_TRUE;
	uint8_t owner = l->owner >= 0 ? byte(frame + (uint64_t)l->owner) : 0;
	if (owner > 8)
		return NOT_TRUE;
	*s = (struct python_step){.frame = frame,
		.previous = word(frame + (uint64_t)l->previous),
		.executable = word(frame + (uint64_t)l->code),
		.instr = word(frame + spots.instr),
		.tag = word(frame + spots.tag),
		.at = w->cframe};
	bool shim = l->owner >= 0 && owner >= l->owner_shim;
	s->leaves =
		l->owner < 0 || shim || (l->is_entry >= 0 && byte(frame + (uint64_t)l->is_entry));
	if (shim)
		return KNOWN;
	s->code = s->executable & ~(uint64_t)l->code_tag;
	enum known known = code_find(w->t, s->code, w->unmapped, w->arg, &id);
	if (known == NOT_TRUE)
		return NOT_TRUE;
	s->address = PYTHON_ADDRESS(id, instruction_of(frame, s->code));
	if (known != KNOWN) {
		s->previous = NO_FRAME; /* the next walk reads this frame again */
		return KNOWN;
	}
	s->file = word(s->code + (uint64_t)l->code_file);
	s->name = word(s->code + (uint64_t)l->code_name);
	s->lines = word(s->code + (uint64_t)l->code_table);
	s->table_bytes = word(s->lines + SIZE);
	s->mark = mark_of(s->code, s->lines);
	if (spots.version && half(s->code + spots.version) == 0)
		s->previous = NO_FRAME;
	return KNOWN;
}

/* Step to the next outer frame. Those that await the running task are next to its outermost one. */
static inline void step_out(struct walk *w)
{
	const struct python_awaiters *a = &w->t->awaiters;
	if (__builtin_expect(!w->awaiters && w->frame != a->root, 1)) {
		w->frame = word(w->frame + (uint64_t)setup.layout.previous);
		return;
	}
	bool is_last = w->awaiters == a->count;
	w->frame = is_last ? a->outer : a->frames[w->awaiters];
	w->awaiters = is_last ? 0 : w->awaiters + 1;
}

/* Follow the frames outward, until the rest is remembered. Return false if what is read cannot be
 * a frame. */
static bool walk(struct walk *w)
{
	struct python_thread *t = w->t;
	while (w->frame) {
		uint32_t i = t->place[place_of(w->frame)];
		if (i < w->known && t->steps[i].frame == w->frame && remembered(w, i)) {
			w->keep = i + 1;
			w->more = t->more;
			break;
		}
		if (w->fresh == PYTHON_FRESH_MAX) {
			w->more = true;
			break;
		}
		struct python_step *s =
			&t->steps[PYTHON_STEPS_MAX + PYTHON_FRESH_MAX - 1 - w->fresh];
		if (!(i < w->last && step_again(w, &t->steps[i], s)) && step_read(w, s) != KNOWN)
			return false;
		if (s->leaves && !cframe_leave(w))
			return false;
		w->fresh++;
		w->fresh_frames += s->address != 0;
		s->address |= w->awaiters && s->address ? PYTHON_AWAITS : 0;
		step_out(w);
	}
	return true;
}

/* Make room for the fresh steps: forget the outermost. */
static void outer_drop(struct walk *w)
{
	struct python_thread *t = w->t;
	uint32_t drop = w->keep + w->fresh - PYTHON_FRESH_MAX;
	drop = drop < w->keep ? drop : w->keep;
	uint32_t frames = drop ? t->steps[drop - 1].frames : 0;
	w->keep -= drop;
	w->more = true;
	t->kept = 0;
	for (uint32_t i = 0; i < w->keep; i++) {
		t->steps[i] = t->steps[i + drop];
		t->steps[i].frames -= frames;
		t->place[place_of(t->steps[i].frame)] = (uint16_t)i;
	}
}

/* Set `at` in versions without cframe: there a shim says which C frame runs the frames within
 * it. */
static void places_by_shim(struct walk *w)
{
	struct python_thread *t = w->t;
	uint64_t at = UINT64_MAX;
	if (w->keep)
		at = t->steps[w->keep - 1].address ? t->steps[w->keep - 1].at
						   : t->steps[w->keep - 1].frame;
	for (uint32_t i = w->keep; i < w->keep + w->fresh; i++) {
		struct python_step *s = &t->steps[i];
		at = s->address ? at : s->frame;
		s->at = at;
	}
}

/* Put the fresh steps after the kept ones, and find the outermost step within the depth. */
static void settle(struct walk *w)
{
	struct python_thread *t = w->t;
	t->kept = w->keep;
	if (w->keep + w->fresh > PYTHON_STEPS_MAX)
		outer_drop(w);
	uint32_t count = w->keep + w->fresh,
		 from = PYTHON_STEPS_MAX + PYTHON_FRESH_MAX - w->fresh - w->keep;
	uint32_t frames = w->keep ? t->steps[w->keep - 1].frames : 0;
	for (uint32_t i = w->keep; i < count; i++) {
		struct python_step *s = &t->steps[i];
		*s = t->steps[from + i];
		s->frames = frames += s->address != 0;
		t->place[place_of(s->frame)] = (uint16_t)i;
	}
	if (setup.layout.tstate_cframe < 0 && !t->one_each)
		places_by_shim(w);
	t->more = w->more;
	uint32_t first = t->first < count ? t->first : count, beyond;
	beyond = frames > w->depth ? frames - w->depth : 0;
	while (first > 0 && t->steps[first - 1].frames > beyond)
		first--;
	while (first < count && t->steps[first].frames <= beyond)
		first++;
	t->first = first;
}

/* Forget which pages are readable, and who awaited the running task. */
static __attribute__((noinline, cold)) void remembered_forget(struct python_thread *t)
{
	for (unsigned i = 0; i < PYTHON_PAGE_SETS; i++)
		for (unsigned n = 0; n < PYTHON_PAGE_WAYS; n++)
			t->pages[i][n] = 0;
	t->awaiters = (struct python_awaiters){0};
}

enum python_answer python_walk(struct python_thread *t, uint32_t depth, bool unmapped, void *arg)
{
	struct walk w = {.t = t, .unmapped = unmapped, .arg = arg};
	w.depth = depth > PYTHON_DEPTH_MAX ? PYTHON_DEPTH_MAX : depth < 1 ? 1 : depth;
	bool pages_new = unmapped || t->epoch != epoch;
	w.last = w.known = pages_new || t->depth != w.depth ? 0 : t->count;
	/* A handler may leave by siglongjmp() while steps are being put in place. */
	t->count = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->one_each = setup.layout.owner < 0 && setup.layout.tstate_cframe < 0;
	t->epoch = epoch;
	t->depth = w.depth;
	uint64_t state = setup.thread_state();
	if (!state || setup.is_finalizing() || !table())
		return PYTHON_NOTHING;
	if (__builtin_expect(pages_new, 0))
		remembered_forget(t);
	if (!walk_begin(&w, state) || !walk(&w))
		return PYTHON_WRONG;
	settle(&w);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->count = w.keep + w.fresh;
	if (t->first == t->count)
		return PYTHON_NOTHING;
	return t->more || (t->first && t->steps[t->first - 1].frames) ? PYTHON_CUT : PYTHON_FRAMES;
}
