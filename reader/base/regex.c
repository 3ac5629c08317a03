/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.c - regular expressions with named groups, matched in time that is proportional to the
 * text.
 *
 * A pattern becomes a program whose jumps are relative, so that a part of it can be moved. The
 * search runs all its threads in step, byte by byte; a thread that meets another one at the same
 * instruction ends, so there are never more threads than instructions.
 */
#include "reader/base/regex.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 20000u /* atoms parsed, repeated ones each time */
#define DEPTH_MAX 32u    /* groups within groups */
#define REPEAT_MAX 255u
#define CLASSES_MAX 100u
#define SLOTS (2u * REGEX_GROUPS_MAX + 1u) /* ends of groups, and the label + 1 */
#define LABEL_SLOT (2u * REGEX_GROUPS_MAX)
#define NOT_SET UINT16_MAX

enum op {
	OP_BYTE,  /* x: the byte */
	OP_ANY,   /* any but a line end */
	OP_CLASS, /* x: index of the class */
	OP_SPLIT, /* continue at x, or, less preferred, at y; both relative */
	OP_JUMP,  /* x: relative */
	OP_SAVE,  /* x: the slot */
	OP_LABEL, /* x: index of the label */
	OP_BEGIN,
	OP_END,
	OP_WORD_EDGE,
	OP_NOT_WORD_EDGE,
	OP_MATCH
};

struct instruction {
	int16_t op, x, y;
};

struct class
{
	uint8_t bits[32];
};

struct part {
	const char *text;
	uint32_t bytes;
};

struct threads {
	uint32_t count;
	uint16_t at[REGEX_INSTRUCTIONS_MAX];
	uint16_t slots[REGEX_INSTRUCTIONS_MAX][SLOTS];
};

struct regex {
	struct instruction program[REGEX_INSTRUCTIONS_MAX + 1];
	uint32_t length;
	struct class classes[CLASSES_MAX];
	uint32_t class_count;
	struct part groups[REGEX_GROUPS_MAX], labels[REGEX_GROUPS_MAX];
	uint32_t group_count, label_count;
	struct threads now, next;
	uint32_t seen[REGEX_INSTRUCTIONS_MAX + 1]; /* generation in which a thread was added */
	uint32_t generation;
};

struct parser {
	struct regex *r;
	const char *at;
	uint32_t steps, depth;
	bool ignore_case;
	const char *cause; /* NULL = no error yet */
};

static void parse_alternatives(struct parser *p);

static void fail(struct parser *p, const char *cause)
{
	if (!p->cause)
		p->cause = cause;
}

/* ---- the program ---- */

/* Insert an instruction at an index. The jumps of what is moved stay right, as they are relative
 * and none leads across the index. */
static void insert(struct parser *p, uint32_t index, enum op op, int x, int y)
{
	struct regex *r = p->r;
	if (r->length >= REGEX_INSTRUCTIONS_MAX - 1) {
		fail(p, "the pattern is too large");
		return;
	}
	memmove(&r->program[index + 1], &r->program[index],
		(r->length - index) * sizeof(r->program[0]));
	r->program[index] =
		(struct instruction){.op = (int16_t)op, .x = (int16_t)x, .y = (int16_t)y};
	r->length++;
}

static void append(struct parser *p, enum op op, int x, int y)
{
	insert(p, p->r->length, op, x, y);
}

/* Insert a split whose first way leads into what follows, or, if the shortest match is wanted, past
 * it. */
static void insert_split(struct parser *p, uint32_t index, int past, bool shortest)
{
	insert(p, index, OP_SPLIT, shortest ? past : 1, shortest ? 1 : past);
}

/* ---- classes ---- */

static bool in_class(const struct class *c, unsigned char byte)
{
	return c->bits[byte / 8] >> byte % 8 & 1;
}

static void class_add(struct class *c, unsigned first, unsigned last)
{
	for (unsigned byte = first; byte <= last; byte++)
		c->bits[byte / 8] |= (uint8_t)(1u << byte % 8);
}

static void class_invert(struct class *c)
{
	for (uint32_t i = 0; i < sizeof(c->bits); i++)
		c->bits[i] = (uint8_t)~c->bits[i];
}

static void class_ignore_case(struct class *c)
{
	for (unsigned byte = 'a'; byte <= 'z'; byte++)
		if (in_class(c, (unsigned char)byte) || in_class(c, (unsigned char)(byte - 32))) {
			class_add(c, byte, byte);
			class_add(c, byte - 32, byte - 32);
		}
}

static bool is_word(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
		(byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* Add what \d, \w, \s and their opposites stand for. Return false if the letter is none of them. */
static bool class_add_named(struct class *c, char letter)
{
	struct class named = {0};
	switch (letter | 32) {
	case 'd':
		class_add(&named, '0', '9');
		break;
	case 'w':
		for (unsigned byte = 0; byte < 256; byte++)
			if (is_word((unsigned char)byte))
				class_add(&named, byte, byte);
		break;
	case 's':
		class_add(&named, '\t', '\r');
		class_add(&named, ' ', ' ');
		break;
	default:
		return false;
	}
	if (letter < 'a')
		class_invert(&named);
	for (uint32_t i = 0; i < sizeof(c->bits); i++)
		c->bits[i] |= named.bits[i];
	return true;
}

static void append_class(struct parser *p, const struct class *c)
{
	struct regex *r = p->r;
	uint32_t found = 0;
	while (found < r->class_count && memcmp(&r->classes[found], c, sizeof(*c)))
		found++;
	if (found == CLASSES_MAX) {
		fail(p, "the pattern has too many classes");
		return;
	}
	r->classes[found] = *c;
	r->class_count += found == r->class_count;
	append(p, OP_CLASS, (int)found, 0);
}

static void append_byte(struct parser *p, unsigned char byte)
{
	struct class c = {0};
	if (!p->ignore_case || !is_word(byte)) {
		append(p, OP_BYTE, byte, 0);
		return;
	}
	class_add(&c, byte, byte);
	class_ignore_case(&c);
	append_class(p, &c);
}

/* Return the byte that an escape of one stands for. */
static unsigned char escaped_byte(struct parser *p, char letter)
{
	if (letter == 'n')
		return '\n';
	if (letter == 't')
		return '\t';
	if (letter == 'r')
		return '\r';
	if (!letter || is_word((unsigned char)letter))
		fail(p, "unknown escape");
	return (unsigned char)letter;
}

/* Parse one member of a class, or the first end of a range. Return false if it was \d or the like,
 * which is added. */
static bool class_member(struct parser *p, struct class *c, unsigned char *ret_byte)
{
	unsigned char byte = (unsigned char)*p->at++;
	if (byte == '\\') {
		if (class_add_named(c, *p->at)) {
			p->at++;
			return false;
		}
		byte = escaped_byte(p, *p->at);
		p->at += *p->at != 0;
	}
	if (byte >= 0x80)
		fail(p, "a class may hold ASCII only");
	*ret_byte = byte;
	return true;
}

/* Parse a class; its [ was read. */
static void parse_class(struct parser *p)
{
	struct class c = {0};
	unsigned char first, last;
	bool inverted = *p->at == '^';
	p->at += inverted;
	const char *begin = p->at;
	while (!p->cause && *p->at && (*p->at != ']' || p->at == begin)) {
		if (!class_member(p, &c, &first))
			continue;
		last = first;
		if (*p->at == '-' && p->at[1] && p->at[1] != ']') {
			p->at++;
			if (!class_member(p, &c, &last) || last < first)
				fail(p, "a range of a class is not valid");
		}
		if (!p->cause)
			class_add(&c, first, last);
	}
	if (*p->at != ']')
		fail(p, "a class has no end");
	else
		p->at++;
	if (p->ignore_case)
		class_ignore_case(&c);
	if (inverted)
		class_invert(&c);
	append_class(p, &c);
}

/* ---- atoms ---- */

static void parse_escape(struct parser *p)
{
	struct class c = {0};
	const char letter = *p->at;
	p->at += letter != 0;
	if (letter == 'b' || letter == 'B')
		append(p, letter == 'b' ? OP_WORD_EDGE : OP_NOT_WORD_EDGE, 0, 0);
	else if (class_add_named(&c, letter))
		append_class(p, &c);
	else
		append_byte(p, escaped_byte(p, letter));
}

/* Return the index of a name, which ends before `end`; add it. */
static uint32_t name_add(struct parser *p, struct part *names, uint32_t *count, char end)
{
	size_t bytes = strcspn(p->at, end == '>' ? ">()" : ")");
	const struct part name = {p->at, (uint32_t)bytes};
	uint32_t i = 0;
	if (!bytes || bytes > 64 || p->at[bytes] != end)
		fail(p, "a name has no end, or is empty or longer than 64 bytes");
	/* A group that is repeated is parsed again, at the same place. */
	while (i < *count && names[i].text != name.text)
		i++;
	if (i == REGEX_GROUPS_MAX)
		fail(p, "more than 16 names");
	if (p->cause)
		return 0;
	names[i] = name;
	*count += i == *count;
	p->at += bytes + 1;
	return i;
}

/* Parse a group; its ( was read. */
static void parse_group(struct parser *p)
{
	struct regex *r = p->r;
	int group = -1;
	if (!strncmp(p->at, "?#", 2)) {
		p->at += 2;
		append(p, OP_LABEL, (int)name_add(p, r->labels, &r->label_count, ')'), 0);
		return;
	}
	if (!strncmp(p->at, "?:", 2)) {
		p->at += 2;
	} else if (!strncmp(p->at, "?<", 2) || !strncmp(p->at, "?P<", 3)) {
		p->at += p->at[1] == 'P' ? 3 : 2;
		group = (int)name_add(p, r->groups, &r->group_count, '>');
	} else if (*p->at == '?') {
		fail(p, "unknown kind of group");
	}
	if (group >= 0)
		append(p, OP_SAVE, 2 * group, 0);
	parse_alternatives(p);
	if (group >= 0)
		append(p, OP_SAVE, 2 * group + 1, 0);
	if (*p->at != ')')
		fail(p, "a group has no end");
	else
		p->at++;
}

static void parse_atom(struct parser *p)
{
	const unsigned char byte = (unsigned char)*p->at++;
	if (++p->steps > STEPS_MAX)
		fail(p, "the pattern is too large");
	switch (byte) {
	case '(':
		parse_group(p);
		break;
	case '[':
		parse_class(p);
		break;
	case '\\':
		parse_escape(p);
		break;
	case '.':
		append(p, OP_ANY, 0, 0);
		break;
	case '^':
		append(p, OP_BEGIN, 0, 0);
		break;
	case '$':
		append(p, OP_END, 0, 0);
		break;
	case '*':
	case '+':
	case '?':
		fail(p, "nothing to repeat");
		break;
	default:
		append_byte(p, byte);
		break;
	}
}

/* ---- repetition ---- */

/* Parse {m}, {m,} or {m,n}. Return false, and leave it, if it is none of them. */
static bool counts_read(struct parser *p, uint32_t *ret_least, uint32_t *ret_most)
{
	char *end;
	if (*p->at != '{' || p->at[1] < '0' || p->at[1] > '9')
		return false;
	unsigned long least = strtoul(p->at + 1, &end, 10), most = least;
	if (*end == ',') {
		most = ULONG_MAX;
		if (end[1] >= '0' && end[1] <= '9')
			most = strtoul(end + 1, &end, 10);
		else
			end++;
	}
	if (*end != '}')
		return false;
	if (least > REPEAT_MAX || most < least || (most > REPEAT_MAX && most != ULONG_MAX))
		fail(p, "a count is larger than 255, or its ends are exchanged");
	p->at = end + 1;
	*ret_least = (uint32_t)least;
	*ret_most = most == ULONG_MAX ? UINT32_MAX : (uint32_t)most;
	return true;
}

static void star(struct parser *p, uint32_t begin, bool shortest)
{
	int length = (int)(p->r->length - begin);
	insert_split(p, begin, length + 2, shortest);
	append(p, OP_JUMP, -(length + 1), 0);
}

static void optional(struct parser *p, uint32_t begin, bool shortest)
{
	insert_split(p, begin, (int)(p->r->length - begin) + 1, shortest);
}

/* Emit the atom at `text` least to most times; its first copy begins at `begin`. */
static void repeat(struct parser *p, const char *text, uint32_t begin, uint32_t least,
	uint32_t most, bool shortest)
{
	const char *behind = p->at;
	p->r->length = begin;
	for (uint32_t i = 0; !p->cause && (i < least || (most != UINT32_MAX && i < most)); i++) {
		uint32_t copy = p->r->length;
		p->at = text;
		parse_atom(p);
		if (i >= least)
			optional(p, copy, shortest);
	}
	if (!p->cause && most == UINT32_MAX) {
		uint32_t copy = p->r->length;
		p->at = text;
		parse_atom(p);
		star(p, copy, shortest);
	}
	p->at = behind;
}

static void parse_repeated(struct parser *p)
{
	const char *text = p->at;
	const uint32_t begin = p->r->length;
	uint32_t least = 0, most = UINT32_MAX;
	parse_atom(p);
	if (p->cause)
		return;
	if (*p->at == '*' || *p->at == '+' || *p->at == '?') {
		least = *p->at == '+';
		most = *p->at == '?' ? 1 : UINT32_MAX;
		p->at++;
	} else if (!counts_read(p, &least, &most)) {
		return;
	}
	bool shortest = *p->at == '?';
	p->at += shortest;
	repeat(p, text, begin, least, most, shortest);
}

static void parse_alternatives(struct parser *p)
{
	const uint32_t begin = p->r->length;
	if (++p->depth > DEPTH_MAX)
		fail(p, "groups are nested too deeply");
	while (!p->cause && *p->at && *p->at != '|' && *p->at != ')')
		parse_repeated(p);
	if (!p->cause && *p->at == '|') {
		p->at++;
		insert_split(p, begin, (int)(p->r->length - begin) + 2, false);
		uint32_t jump = p->r->length;
		append(p, OP_JUMP, 0, 0);
		p->depth--; /* alternatives follow each other */
		parse_alternatives(p);
		p->depth++;
		p->r->program[jump].x = (int16_t)(p->r->length - jump);
	}
	p->depth--;
}

struct regex *regex_compile(const char *pattern, const char **ret_cause)
{
	struct parser p = {.r = calloc(1, sizeof(struct regex)), .at = pattern};
	*ret_cause = "out of memory";
	if (!p.r)
		return NULL;
	if (!strncmp(pattern, "(?i)", 4)) {
		p.ignore_case = true;
		p.at += 4;
	}
	parse_alternatives(&p);
	if (*p.at)
		fail(&p, "a ) without a (");
	p.r->program[p.r->length++] = (struct instruction){.op = OP_MATCH};
	*ret_cause = p.cause;
	if (!p.cause)
		return p.r;
	free(p.r);
	return NULL;
}

void regex_free(struct regex *r)
{
	free(r);
}

uint32_t regex_group_count(const struct regex *r)
{
	return r->group_count;
}

const char *regex_group_name(const struct regex *r, uint32_t group, uint32_t *ret_bytes)
{
	*ret_bytes = r->groups[group].bytes;
	return r->groups[group].text;
}

/* ---- search ---- */

struct search {
	const unsigned char *text;
	uint32_t bytes, at;
};

static bool at_word_edge(const struct search *s)
{
	bool before = s->at && is_word(s->text[s->at - 1]);
	return before != (s->at < s->bytes && is_word(s->text[s->at]));
}

/* Return true if an instruction that reads no byte lets a thread pass. */
static bool passes(const struct search *s, enum op op)
{
	switch (op) {
	case OP_BEGIN:
		return s->at == 0;
	case OP_END:
		return s->at == s->bytes;
	case OP_WORD_EDGE:
		return at_word_edge(s);
	case OP_NOT_WORD_EDGE:
		return !at_word_edge(s);
	default:
		return true;
	}
}

/* Add a thread, and those that it leads to without reading a byte. `slots` is the same after it. */
static void thread_add(struct regex *r, struct threads *to, const struct search *s, uint32_t at,
	uint16_t slots[SLOTS])
{
	while (r->seen[at] != r->generation) {
		const struct instruction i = r->program[at];
		uint16_t kept;
		r->seen[at] = r->generation;
		switch (i.op) {
		case OP_JUMP:
			at += (uint32_t)i.x;
			break;
		case OP_SPLIT:
			thread_add(r, to, s, at + (uint32_t)i.x, slots);
			at += (uint32_t)i.y;
			break;
		case OP_SAVE:
		case OP_LABEL: {
			const uint32_t slot = i.op == OP_SAVE ? (uint32_t)i.x : LABEL_SLOT;
			kept = slots[slot];
			slots[slot] = (uint16_t)(i.op == OP_SAVE ? s->at : (uint32_t)i.x + 1);
			thread_add(r, to, s, at + 1, slots);
			slots[slot] = kept;
			return;
		}
		case OP_BEGIN:
		case OP_END:
		case OP_WORD_EDGE:
		case OP_NOT_WORD_EDGE:
			if (!passes(s, (enum op)i.op))
				return;
			at++;
			break;
		default:
			to->at[to->count] = (uint16_t)at;
			memcpy(to->slots[to->count++], slots, sizeof(to->slots[0]));
			return;
		}
	}
}

static bool reads(const struct regex *r, const struct instruction *i, unsigned char byte)
{
	return i->op == OP_BYTE   ? (unsigned char)i->x == byte
		: i->op == OP_ANY ? byte != '\n'
				  : in_class(&r->classes[i->x], byte);
}

/* Let all threads read a byte. Return true if one had matched: those after it, which are less
 * preferred, have ended. */
static bool threads_step(struct regex *r, const struct search *s, uint16_t matched[SLOTS])
{
	const struct search next = {s->text, s->bytes, s->at + 1};
	r->generation++;
	r->next.count = 0;
	for (uint32_t n = 0; n < r->now.count; n++) {
		const struct instruction *i = &r->program[r->now.at[n]];
		if (i->op == OP_MATCH) {
			memcpy(matched, r->now.slots[n], sizeof(r->now.slots[n]));
			return true;
		}
		if (s->at < s->bytes && reads(r, i, s->text[s->at]))
			thread_add(r, &r->next, &next, r->now.at[n] + 1u, r->now.slots[n]);
	}
	return false;
}

static void threads_exchange(struct regex *r)
{
	r->now.count = r->next.count;
	memcpy(r->now.at, r->next.at, r->next.count * sizeof(r->now.at[0]));
	memcpy(r->now.slots, r->next.slots, r->next.count * sizeof(r->now.slots[0]));
}

bool regex_search(struct regex *r, const char *text, size_t bytes, struct regex_match *ret_match)
{
	struct search s = {(const unsigned char *)text,
		(uint32_t)(bytes > REGEX_TEXT_MAX ? REGEX_TEXT_MAX : bytes), 0};
	uint16_t matched[SLOTS], none[SLOTS];
	bool found = false;
	memset(none, 0xff, sizeof(none));
	none[LABEL_SLOT] = 0;
	r->now.count = 0;
	memset(r->seen, 0, sizeof(r->seen));
	r->generation = 1;
	for (; s.at <= s.bytes && (!found || r->now.count); s.at++) {
		if (!found) /* the generation is that in which the threads here were added */
			thread_add(r, &r->now, &s, 0, none);
		found = threads_step(r, &s, matched) || found;
		threads_exchange(r);
	}
	if (!found)
		return false;
	for (uint32_t i = 0; i < REGEX_GROUPS_MAX; i++) {
		bool set = matched[2 * i] != NOT_SET && matched[2 * i + 1] != NOT_SET;
		ret_match->groups[i] = set
			? (struct regex_group){matched[2 * i], matched[2 * i + 1]}
			: (struct regex_group){1, 0};
	}
	const struct part *label = matched[LABEL_SLOT] ? &r->labels[matched[LABEL_SLOT] - 1] : NULL;
	ret_match->label = label ? label->text : NULL;
	ret_match->label_bytes = label ? label->bytes : 0;
	return true;
}
