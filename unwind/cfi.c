#include "unwind/cfi.h"

#include <stdbool.h>

#define DWARF_BP 6u
#define DWARF_SP 7u
#define DWARF_IP 16u
#define REMEMBER_MAX 8
#define VALUES_MAX 8

/* ---- reading ---- */

/* A place in a table. What would go past `end` reads as 0 and marks the whole as bad. */
struct reader {
	uint64_t at, end;
	bool bad;
};

static uint64_t read_bytes(struct reader *r, unsigned count)
{
	uint64_t value = 0;
	if (r->bad || r->end - r->at < count) {
		r->bad = true;
		return 0;
	}
	const unsigned char *byte = (const unsigned char *)(uintptr_t)r->at;
	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)byte[i] << (8 * i);
	r->at += count;
	return value;
}

static int64_t read_signed(struct reader *r, unsigned count)
{
	unsigned shift = 64 - 8 * count;
	return (int64_t)(read_bytes(r, count) << shift) >> shift;
}

static uint64_t read_uleb(struct reader *r)
{
	uint64_t value = 0, byte = 0x80;
	for (unsigned shift = 0; byte & 0x80 && !r->bad; shift += 7) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

static int64_t read_sleb(struct reader *r)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;
	while (byte & 0x80 && !r->bad) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

/* A pointer in encoding DW_EH_PE_*: absolute or relative to its own place. */
static uint64_t read_pointer(struct reader *r, unsigned encoding)
{
	uint64_t place = r->at, value;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = read_bytes(r, 8);
		break;
	case 0x01:
		value = read_uleb(r);
		break;
	case 0x02:
		value = read_bytes(r, 2);
		break;
	case 0x03:
		value = read_bytes(r, 4);
		break;
	case 0x09:
		value = (uint64_t)read_sleb(r);
		break;
	case 0x0a:
		value = (uint64_t)read_signed(r, 2);
		break;
	case 0x0b:
		value = (uint64_t)read_signed(r, 4);
		break;
	default:
		value = 0;
		r->bad = true;
	}
	if ((encoding & 0x70) == 0x10)
		value += place;
	else if (encoding & 0x70)
		r->bad = true;
	return value;
}

static void skip(struct reader *r, uint64_t count)
{
	if (r->bad || r->end - r->at < count)
		r->bad = true;
	else
		r->at += count;
}

/* ---- expressions ---- */

/*
 * Expressions are evaluated for all stacks at once: every value is base + offset, or the word at
 * such a place plus `add`. That covers what compilers and the C library write: PLT entries (the
 * address decides, and it is known), realigned frames, signal frames, OpenSSL's assembly.
 */
enum value_base { VALUE_SP = CFI_SP, VALUE_BP = CFI_BP, VALUE_CFA = CFI_CFA, VALUE_NUMBER };

struct value {
	unsigned base; /* enum value_base */
	bool loaded;
	int64_t offset; /* before the load */
	int64_t add;    /* after it */
};

struct values {
	struct value v[VALUES_MAX];
	int count;
	bool bad;
	struct value none; /* stands for what is missing */
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
	if (s->bad || b.base != VALUE_NUMBER) {
		s->bad = true;
		return;
	}
	if (op == 0x22 || op == 0x1c) { /* plus, minus */
		add(s, op == 0x22 ? b.offset : -b.offset);
		return;
	}
	if (a->base != VALUE_NUMBER) {
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
		push(s, VALUE_NUMBER, op - 0x30);
	else if (op == 0x70 + DWARF_SP) /* breg.. */
		push(s, VALUE_SP, read_sleb(r));
	else if (op == 0x70 + DWARF_BP)
		push(s, VALUE_BP, read_sleb(r));
	else if (op == 0x70 + DWARF_IP)
		push(s, VALUE_NUMBER, (int64_t)address + read_sleb(r));
	else if (op == 0x08) /* const1u, const1s, const2u .. */
		push(s, VALUE_NUMBER, (int64_t)read_bytes(r, 1));
	else if (op == 0x09)
		push(s, VALUE_NUMBER, read_signed(r, 1));
	else if (op == 0x0a)
		push(s, VALUE_NUMBER, (int64_t)read_bytes(r, 2));
	else if (op == 0x23) /* plus_uconst */
		add(s, (int64_t)read_uleb(r));
	else if (op == 0x06 && !top(s)->loaded && top(s)->base != VALUE_NUMBER) /* deref */
		top(s)->loaded = true;
	else if (op == 0x1a || op == 0x1c || op == 0x22 || op == 0x24 || op == 0x2a)
		binary(s, op);
	else
		s->bad = true;
}

/* Evaluates the expression (a length and that many bytes) at `place`; on_cfa: the CFA is on the
 * stack before. */
static bool evaluate(
	struct reader r, uint64_t place, uint64_t address, bool on_cfa, struct value *ret_value)
{
	struct values s = {.count = 0};
	r.at = place;
	uint64_t length = read_uleb(&r);
	if (r.bad || r.end - r.at < length)
		return false;
	r.end = r.at + length;
	if (on_cfa)
		push(&s, VALUE_CFA, 0);
	while (r.at < r.end && !r.bad && !s.bad)
		operation(&s, &r, (unsigned)read_bytes(&r, 1), address);
	if (r.bad || s.bad || s.count == 0)
		return false;
	*ret_value = *top(&s);
	return ret_value->base != VALUE_NUMBER;
}

/* ---- the program of a frame description ---- */

enum register_how { SAME, UNDEFINED, AT_OFFSET, AT_EXPRESSION, OTHERWISE };

struct saved {
	enum register_how how;
	int64_t offset; /* from the CFA */
	uint64_t expression;
};

struct row {
	bool by_expression, bad;
	uint64_t cfa_register;
	int64_t cfa_offset;
	uint64_t cfa_expression;
	struct saved bp, ip;
};

struct program {
	struct row now, initial;
	struct row remembered[REMEMBER_MAX];
	int depth;
	uint64_t location, address; /* runs until location > address */
	uint64_t code_align;
	int64_t data_align;
	unsigned encoding;
	bool is_signal, has_lengths;
};

/* `value` is an offset from the CFA, or where an expression lies. */
static void set_saved(struct program *p, uint64_t number, enum register_how how, int64_t value)
{
	struct saved s = {how, value, (uint64_t)value};
	if (number == DWARF_BP)
		p->now.bp = s;
	else if (number == DWARF_IP)
		p->now.ip = s;
}

static void set_initial(struct program *p, uint64_t number)
{
	if (number == DWARF_BP)
		p->now.bp = p->initial.bp;
	else if (number == DWARF_IP)
		p->now.ip = p->initial.ip;
}

static void skip_expression(struct reader *r)
{
	uint64_t length = read_uleb(r);
	skip(r, length);
}

static void step_cfa(struct program *p, struct reader *r, unsigned op)
{
	switch (op) {
	case 0x0c: /* def_cfa */
	case 0x12: /* def_cfa_sf */
		p->now.by_expression = false;
		p->now.cfa_register = read_uleb(r);
		p->now.cfa_offset =
			op == 0x0c ? (int64_t)read_uleb(r) : read_sleb(r) * p->data_align;
		break;
	case 0x0d: /* def_cfa_register */
		p->now.by_expression = false;
		p->now.cfa_register = read_uleb(r);
		break;
	case 0x0e: /* def_cfa_offset */
		p->now.cfa_offset = (int64_t)read_uleb(r);
		break;
	case 0x13: /* def_cfa_offset_sf */
		p->now.cfa_offset = read_sleb(r) * p->data_align;
		break;
	default: /* 0x0f: def_cfa_expression */
		p->now.by_expression = true;
		p->now.cfa_expression = r->at;
		skip_expression(r);
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
	case 0x10: /* expression */
		set_saved(p, number, AT_EXPRESSION, (int64_t)r->at);
		skip_expression(r);
		break;
	case 0x11: /* offset_extended_sf */
		set_saved(p, number, AT_OFFSET, read_sleb(r) * p->data_align);
		break;
	case 0x16: /* val_expression */
		set_saved(p, number, OTHERWISE, 0);
		skip_expression(r);
		break;
	default: /* 0x09, 0x14, 0x15: register, val_offset, val_offset_sf */
		set_saved(p, number, OTHERWISE, 0);
		read_uleb(r);
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
	case 0x2e: /* GNU_args_size */
		read_uleb(r);
		break;
	default:
		r->bad = true;
	}
}

/* Runs the instructions up to the row of p->address. */
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

/* Sets *ret to the body of the entry at `at`, behind its length. */
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

/* The augmentation string "zR..." and its data. */
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
		else if (c == 'L')
			read_bytes(&data, 1);
		else if (c == 'P')
			read_pointer(&data, (unsigned)read_bytes(&data, 1) & 0x0f);
		else
			break;
	}
	r->bad = r->bad || data.bad;
}

/* Reads the common part and runs its instructions. */
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
	if (r.bad || id != 0 || (version != 1 && version != 3) || ip != DWARF_IP)
		return false;
	p->has_lengths = first == 'z';
	if (first == 'z')
		read_augmentation(p, &r, text);
	else if (first)
		return false;
	p->location = 0;
	return !r.bad && run(p, r);
}

/* The description at `at` with its common part. False when it is not one of `p->address`. */
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

/* Where the description of `address` is, by the sorted table of .eh_frame_hdr; 0 = nowhere. */
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

static bool fits(int64_t number)
{
	return number > -(1 << 30) && number < 1 << 30;
}

static bool rule_cfa(
	struct reader all, const struct row *row, uint64_t address, struct cfi_rule *rule)
{
	struct value v = {.offset = row->cfa_offset};
	if (row->by_expression) {
		if (!evaluate(all, row->cfa_expression, address, false, &v))
			return false;
	} else if (row->cfa_register == DWARF_SP || row->cfa_register == DWARF_BP) {
		v.base = row->cfa_register == DWARF_SP ? VALUE_SP : VALUE_BP;
	} else {
		return false;
	}
	rule->cfa = (struct cfi_place){(uint8_t)v.base, (int32_t)v.offset};
	rule->cfa_load = v.loaded;
	rule->cfa_add = (int32_t)v.add;
	return fits(v.offset) && fits(v.add);
}

static bool rule_bp(
	struct reader all, const struct row *row, uint64_t address, struct cfi_rule *rule)
{
	struct value v = {.base = VALUE_CFA, .offset = row->bp.offset};
	rule->bp_saved = row->bp.how != SAME && row->bp.how != UNDEFINED;
	if (row->bp.how == OTHERWISE)
		return false;
	if (row->bp.how == AT_EXPRESSION &&
		(!evaluate(all, row->bp.expression, address, true, &v) || v.loaded))
		return false;
	rule->bp = (struct cfi_place){(uint8_t)v.base, (int32_t)v.offset};
	return fits(v.offset);
}

void cfi_find(const struct cfi_object *object, uint64_t address, struct cfi_rule *ret_rule)
{
	struct program p;
	struct cfi_rule rule = {.kind = CFI_NO_FDE};
	struct reader all = {.at = object->begin, .end = object->end};
	p.now = (struct row){.bad = false};
	p.depth = 0;
	p.address = address;
	p.encoding = 0;
	p.is_signal = false;
	uint64_t at = object->frame_header ? table_search(object, address) : 0;
	if (!at || !description(&p, all, at)) {
		*ret_rule = rule;
		return;
	}
	const struct saved *ip = &p.now.ip;
	rule.kind = CFI_UNKNOWN;
	if (p.is_signal)
		rule.kind = CFI_SIGNAL;
	else if (p.now.bad)
		rule.kind = CFI_UNKNOWN;
	else if (ip->how == UNDEFINED)
		rule.kind = CFI_END;
	else if (ip->how == AT_OFFSET && ip->offset == -8 &&
		rule_cfa(all, &p.now, address, &rule) && rule_bp(all, &p.now, address, &rule))
		rule.kind = CFI_FRAME;
	*ret_rule = rule;
}
