/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c - the call frame information of one instruction: an interpreter of DWARF's tables.
 */
#include "unwind/cfi.h"

#include "unwind/cfi_read.h"

#define REMEMBER_MAX 4 /* depth of remember_state; compilers use one level */
#define VALUES_MAX 8

/* ---- expressions ---- */

/*
 * Expressions are evaluated symbolically, so that the result is valid for every stack: a value is
 * base + offset, or the word at such an address plus `add`. That covers what compilers and the C
 * library write: PLT entries (which depend on the address only), realigned frames, signal frames,
 * OpenSSL's assembly.
 */
struct value {
	unsigned base; /* enum cfi_base */
	bool loaded;
	int64_t offset; /* added before the load */
	int64_t add;    /* added after the load */
};

struct values {
	struct value v[VALUES_MAX];
	int count;
	bool bad;
	struct value none; /* replaces a missing value */
};

static void push(struct values *s, unsigned base, int64_t offset)
{
	if (s->count == VALUES_MAX)
		s->bad = true;
	else
		s->v[s->count++] = (struct value){.base = base, .offset = offset};
}

static struct value *top(struct values *s)
{
	if (s->count > 0)
		return &s->v[s->count - 1];
	s->bad = true;
	return &s->none;
}

static void add(struct values *s, int64_t number)
{
	struct value *v = top(s);
	if (s->bad)
		return;
	if (v->loaded)
		v->add += number;
	else
		v->offset += number;
}

static void binary(struct values *s, unsigned op)
{
	struct value b = *top(s);
	s->count -= s->count > 0;
	struct value *a = top(s);
	if (s->bad || b.base != CFI_NUMBER) {
		s->bad = true;
		return;
	}
	if (op == 0x22 || op == 0x1c) { /* plus, minus */
		add(s, op == 0x22 ? b.offset : -b.offset);
		return;
	}
	if (a->base != CFI_NUMBER) {
		s->bad = true;
		return;
	}
	switch (op) {
	case 0x1a: /* and */
		a->offset &= b.offset;
		break;
	case 0x24: /* shl */
		a->offset = b.offset < 64 ? (int64_t)((uint64_t)a->offset << b.offset) : 0;
		break;
	default: /* 0x2a: ge */
		a->offset = a->offset >= b.offset;
	}
}

static void operation(struct values *s, struct reader *r, unsigned op, uint64_t address)
{
	if (op >= 0x30 && op <= 0x4f) /* lit0.. */
		push(s, CFI_NUMBER, op - 0x30);
	else if (MACHINE_IP_BREG && op == 0x70 + CFI_IP)
		push(s, CFI_NUMBER, (int64_t)address + read_sleb(r));
	else if (op >= 0x70 && op < 0x70 + CFI_IP) /* breg.. */
		push(s, op - 0x70, read_sleb(r));
	else if (op == 0x08) /* const1u, const1s, const2u .. */
		push(s, CFI_NUMBER, (int64_t)read_bytes(r, 1));
	else if (op == 0x09)
		push(s, CFI_NUMBER, read_signed(r, 1));
	else if (op == 0x0a)
		push(s, CFI_NUMBER, (int64_t)read_bytes(r, 2));
	else if (op == 0x23) /* plus_uconst */
		add(s, (int64_t)read_uleb(r));
	else if (op == 0x06 && !top(s)->loaded && top(s)->base != CFI_NUMBER) /* deref */
		top(s)->loaded = true;
	else if (op == 0x1a || op == 0x1c || op == 0x22 || op == 0x24 || op == 0x2a)
		binary(s, op);
	else
		s->bad = true;
}

static bool fits(int64_t number)
{
	return number > -(1 << 30) && number < 1 << 30;
}

/* Evaluate the expression at `place` (a length and that many bytes). on_cfa: it starts with the CFA
 * on the stack. */
static bool evaluate(
	struct reader r, uint64_t place, uint64_t address, bool on_cfa, struct cfi_value *ret_value)
{
	struct values s = {.count = 0};
	r.at = place;
	uint64_t length = read_uleb(&r);
	if (r.bad || r.end - r.at < length)
		return false;
	r.end = r.at + length;
	if (on_cfa)
		push(&s, CFI_CFA, 0);
	while (r.at < r.end && !r.bad && !s.bad)
		operation(&s, &r, (unsigned)read_bytes(&r, 1), address);
	struct value v = *top(&s);
	*ret_value =
		(struct cfi_value){(uint8_t)v.base, v.loaded, (int32_t)v.offset, (int32_t)v.add};
	return !r.bad && !s.bad && fits(v.offset) && fits(v.add) && v.base != CFI_NUMBER;
}

/* ---- the program of a frame description ---- */

enum register_how {
	SAME,
	UNDEFINED,
	AT_OFFSET,
	AT_EXPRESSION,
	IS_OFFSET,
	IS_EXPRESSION,
	IS_REGISTER
};

struct saved {
	int32_t how;   /* enum register_how */
	int32_t value; /* offset from the CFA; offset of an expression from the beginning of the
			  object; number of a register */
};

struct row {
	bool by_expression, bad;
	uint32_t cfa_register;
	int64_t cfa_offset;
	uint64_t cfa_expression;
	struct saved saved[CFI_REGISTERS];
};

struct program {
	struct row now, initial;
	struct row remembered[REMEMBER_MAX];
	int depth;
	uint64_t begin;             /* of the object */
	uint64_t location, address; /* the program runs until location > address */
	uint64_t code_align;
	int64_t data_align;
	unsigned encoding;
	bool is_signal, has_lengths;
};

static void set_saved(struct program *p, uint64_t number, enum register_how how, int64_t value)
{
	if (number >= CFI_REGISTERS)
		return;
	if (value != (int32_t)value)
		p->now.bad = true;
	p->now.saved[number] = (struct saved){how, (int32_t)value};
}

static void set_expression(
	struct program *p, uint64_t number, enum register_how how, struct reader *r)
{
	set_saved(p, number, how, (int64_t)(r->at - p->begin));
	uint64_t length = read_uleb(r);
	skip(r, length);
}

static void set_initial(struct program *p, uint64_t number)
{
	if (number < CFI_REGISTERS)
		p->now.saved[number] = p->initial.saved[number];
}

static void step_cfa(struct program *p, struct reader *r, unsigned op)
{
	uint64_t length;
	if (op != 0x0f && op != 0x0e && op != 0x13) { /* def_cfa, def_cfa_sf, def_cfa_register */
		p->now.by_expression = false;
		p->now.cfa_register = (uint32_t)read_uleb(r);
	}
	switch (op) {
	case 0x0c: /* def_cfa */
	case 0x0e: /* def_cfa_offset */
		p->now.cfa_offset = (int64_t)read_uleb(r);
		break;
	case 0x12: /* def_cfa_sf */
	case 0x13: /* def_cfa_offset_sf */
		p->now.cfa_offset = read_sleb(r) * p->data_align;
		break;
	case 0x0f: /* def_cfa_expression */
		p->now.by_expression = true;
		p->now.cfa_expression = r->at;
		length = read_uleb(r);
		skip(r, length);
		break;
	default:
		break;
	}
}

static void step_register(struct program *p, struct reader *r, unsigned op)
{
	uint64_t number = read_uleb(r);
	switch (op) {
	case 0x05: /* offset_extended */
		set_saved(p, number, AT_OFFSET, (int64_t)read_uleb(r) * p->data_align);
		break;
	case 0x06: /* restore_extended */
		set_initial(p, number);
		break;
	case 0x07: /* undefined */
		set_saved(p, number, UNDEFINED, 0);
		break;
	case 0x08: /* same_value */
		set_saved(p, number, SAME, 0);
		break;
	case 0x09: /* register */
		set_saved(p, number, IS_REGISTER, (int64_t)read_uleb(r));
		break;
	case 0x10: /* expression */
		set_expression(p, number, AT_EXPRESSION, r);
		break;
	case 0x11: /* offset_extended_sf */
		set_saved(p, number, AT_OFFSET, read_sleb(r) * p->data_align);
		break;
	case 0x14: /* val_offset */
		set_saved(p, number, IS_OFFSET, (int64_t)read_uleb(r) * p->data_align);
		break;
	case 0x15: /* val_offset_sf */
		set_saved(p, number, IS_OFFSET, read_sleb(r) * p->data_align);
		break;
	default: /* 0x16: val_expression */
		set_expression(p, number, IS_EXPRESSION, r);
	}
}

static void step_other(struct program *p, struct reader *r, unsigned op)
{
	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01: /* set_loc */
		p->location = read_pointer(r, p->encoding);
		break;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		p->location += read_bytes(r, 1u << (op - 2)) * p->code_align;
		break;
	case 0x0a: /* remember_state */
		if (p->depth < REMEMBER_MAX)
			p->remembered[p->depth] = p->now;
		else
			p->now.bad = true;
		p->depth++;
		break;
	case 0x0b: /* restore_state */
		if (p->depth > 0 && --p->depth < REMEMBER_MAX)
			p->now = p->remembered[p->depth];
		else
			p->now.bad = true;
		break;
	case 0x2d: /* AARCH64_negate_ra_state: signed from here on, or no more */
		break;
	case 0x2e: /* GNU_args_size */
		read_uleb(r);
		break;
	default:
		r->bad = true;
	}
}

/* Run the instructions up to the row of p->address. */
static bool run(struct program *p, struct reader r)
{
	while (r.at < r.end && !r.bad && p->location <= p->address) {
		unsigned op = (unsigned)read_bytes(&r, 1), low = op & 0x3f;
		if (op >> 6 == 1)
			p->location += low * p->code_align;
		else if (op >> 6 == 2)
			set_saved(p, low, AT_OFFSET, (int64_t)read_uleb(&r) * p->data_align);
		else if (op >> 6 == 3)
			set_initial(p, low);
		else if ((op >= 0x0c && op <= 0x0f) || op == 0x12 || op == 0x13)
			step_cfa(p, &r, op);
		else if ((op >= 0x05 && op <= 0x09) || op == 0x10 || op == 0x11 ||
			(op >= 0x14 && op <= 0x16))
			step_register(p, &r, op);
		else
			step_other(p, &r, op);
	}
	return !r.bad;
}

/* ---- entries ---- */

/* Set *ret to the body of the entry at `at`, which follows its length. */
static bool entry_open(struct reader all, uint64_t at, struct reader *ret)
{
	if (at < all.at || at >= all.end)
		return false;
	all.at = at;
	uint64_t length = read_bytes(&all, 4);
	if (all.bad || length == 0 || length >= 0xfffffff0 || all.end - all.at < length)
		return false;
	all.end = all.at + length;
	*ret = all;
	return true;
}

/* Read the augmentation string "zR..." and its data. */
static void read_augmentation(struct program *p, struct reader *r, struct reader text)
{
	uint64_t length = read_uleb(r);
	struct reader data = *r;
	skip(r, length);
	for (char c; (c = (char)read_bytes(&text, 1)) != 0 && !text.bad;) {
		if (c == 'R')
			p->encoding = (unsigned)read_bytes(&data, 1);
		else if (c == 'S')
			p->is_signal = true;
		else if (c == 'B' || c == 'G') /* AArch64: signed with key B; tagged stack */
			continue;
		else if (c == 'L')
			read_bytes(&data, 1);
		else if (c == 'P')
			read_pointer(&data, (unsigned)read_bytes(&data, 1) & 0x0f);
		else
			break;
	}
	r->bad = r->bad || data.bad;
}

/* Read the common part (CIE) and run its instructions. */
static bool common_part(struct program *p, struct reader r)
{
	uint64_t id = read_bytes(&r, 4), version = read_bytes(&r, 1);
	struct reader text = r;
	while (read_bytes(&r, 1) && !r.bad)
		;
	uint64_t first = read_bytes(&text, 1);
	p->code_align = read_uleb(&r);
	p->data_align = read_sleb(&r);
	uint64_t ip = version == 1 ? read_bytes(&r, 1) : read_uleb(&r);
	if (r.bad || id != 0 || (version != 1 && version != 3) || ip != MACHINE_RETURN_COLUMN)
		return false;
	p->has_lengths = first == 'z';
	if (first == 'z')
		read_augmentation(p, &r, text);
	else if (first)
		return false;
	p->location = 0;
	return !r.bad && run(p, r);
}

/* Read the description (FDE) at `at` and its common part. Return false if it does not cover
 * `p->address`. */
static bool description(struct program *p, struct reader all, uint64_t at)
{
	struct reader r, common;
	if (!entry_open(all, at, &r))
		return false;
	uint64_t place = r.at, offset = read_bytes(&r, 4);
	uint64_t address = p->address;
	if (offset == 0 || !entry_open(all, place - offset, &common))
		return false;
	p->address = UINT64_MAX;
	if (!common_part(p, common))
		p->now.bad = true;
	p->address = address;
	p->initial = p->now;
	uint64_t begin = read_pointer(&r, p->encoding);
	uint64_t bytes = read_pointer(&r, p->encoding & 0x0f);
	if (r.bad || address < begin || address - begin >= bytes)
		return false;
	if (p->has_lengths) {
		uint64_t length = read_uleb(&r);
		skip(&r, length);
	}
	p->location = begin;
	if (r.bad || !run(p, r))
		p->now.bad = true;
	return true;
}

/* Find the description of `address` in the sorted table of .eh_frame_hdr; 0 = none. */
static uint64_t table_search(const struct cfi_object *object, uint64_t address)
{
	uint64_t header = object->frame_header;
	struct reader r = {.at = header, .end = object->end};
	if (read_bytes(&r, 4) != 0x3b031b01 || r.bad) /* version 1; the encodings all linkers use */
		return 0;
	skip(&r, 4);
	uint64_t count = read_bytes(&r, 4), low = 0, high = count;
	if (r.bad || (r.end - r.at) / 8 < count)
		return 0;
	const int32_t *table = (const int32_t *)(uintptr_t)r.at;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (header + (uint64_t)(int64_t)table[2 * middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? header + (uint64_t)(int64_t)table[2 * low - 1] : 0;
}

/* ---- the rule ---- */

/* Run the program up to `address`. */
static enum cfi_kind row_find(const struct cfi_object *object, uint64_t address, struct program *p)
{
	struct reader all = {.at = object->begin, .end = object->end};
	p->now = (struct row){.bad = false};
	p->depth = 0;
	p->begin = object->begin;
	p->address = address;
	p->encoding = 0;
	p->is_signal = false;
	uint64_t at = object->frame_header ? table_search(object, address) : 0;
	if (!at || !description(p, all, at))
		return CFI_NO_FDE;
	if (p->is_signal)
		return CFI_SIGNAL;
	if (p->now.bad)
		return CFI_UNKNOWN;
	if (MACHINE_RETURN_COLUMN != CFI_IP) /* the caller's pc is what its link register will be */
		p->now.saved[CFI_IP] = p->now.saved[MACHINE_RETURN_COLUMN].how == SAME
			? (struct saved){IS_REGISTER, MACHINE_RETURN_COLUMN}
			: p->now.saved[MACHINE_RETURN_COLUMN];
	return p->now.saved[CFI_IP].how == UNDEFINED ? CFI_END : CFI_FRAME;
}

static bool row_cfa(
	const struct cfi_object *object, const struct program *p, struct cfi_value *ret_value)
{
	const struct row *row = &p->now;
	struct reader all = {.at = object->begin, .end = object->end};
	if (row->by_expression)
		return evaluate(all, row->cfa_expression, p->address, false, ret_value);
	*ret_value = (struct cfi_value){
		.base = (uint8_t)row->cfa_register, .offset = (int32_t)row->cfa_offset};
	return row->cfa_register < CFI_IP && fits(row->cfa_offset);
}

/* Find where register `number` is saved. Return an enum cfi_how, or -1. */
static int row_saved(const struct cfi_object *object, const struct program *p, unsigned number,
	struct cfi_value *ret_value)
{
	struct saved saved = p->now.saved[number];
	struct reader all = {.at = object->begin, .end = object->end};
	uint64_t place = p->begin + (uint32_t)saved.value;
	*ret_value = (struct cfi_value){.base = CFI_CFA, .offset = saved.value};
	switch (saved.how) {
	case SAME:
		return CFI_SAME;
	case UNDEFINED:
		return CFI_UNDEFINED;
	case AT_OFFSET:
		return CFI_AT;
	case IS_OFFSET:
		return CFI_IS;
	case IS_REGISTER:
		*ret_value = (struct cfi_value){.base = (uint8_t)saved.value};
		return saved.value >= 0 && saved.value < CFI_REGISTERS ? CFI_IS : -1;
	default:
		if (!evaluate(all, place, p->address, true, ret_value))
			return -1;
		return saved.how == AT_EXPRESSION ? CFI_AT : CFI_IS;
	}
}

static bool ip_fits(int32_t offset)
{
	return MACHINE_IP_FIXED ? offset == MACHINE_IP_FIXED : offset < 0 && offset % 8 == 0;
}

void cfi_find(const struct cfi_object *object, uint64_t address, struct cfi_rule *ret_rule)
{
	struct program p;
	struct cfi_rule rule = {.kind = (uint8_t)row_find(object, address, &p)};
	if (rule.kind == CFI_FRAME) {
		struct cfi_value ip = {0};
		int how = row_saved(object, &p, CFI_BP, &rule.bp);
		rule.bp_saved = how == CFI_AT;
		if (!row_cfa(object, &p, &rule.cfa) ||
			(rule.cfa.base != CFI_SP && rule.cfa.base != CFI_BP) ||
			(how == CFI_AT &&
				(rule.bp.loaded || rule.bp.base < CFI_BP ||
					(rule.bp.base > CFI_SP && rule.bp.base != CFI_CFA))) ||
			how == CFI_IS || how < 0 || row_saved(object, &p, CFI_IP, &ip) != CFI_AT ||
			ip.base != CFI_CFA || !ip_fits(ip.offset) || ip.loaded)
			rule.kind = CFI_UNKNOWN;
		rule.ip = ip.offset;
	}
	*ret_rule = rule;
}

void cfi_find_frame(const struct cfi_object *object, uint64_t address, struct cfi_frame *ret_frame)
{
	struct program p;
	ret_frame->kind = (uint8_t)row_find(object, address, &p);
	if (ret_frame->kind != CFI_FRAME)
		return;
	if (!row_cfa(object, &p, &ret_frame->cfa))
		ret_frame->kind = CFI_UNKNOWN;
	for (unsigned i = 0; i < CFI_REGISTERS; i++) {
		int how = row_saved(object, &p, i, &ret_frame->saved[i].value);
		ret_frame->saved[i].how = (uint8_t)(how < 0 ? CFI_UNDEFINED : how);
	}
}
