/* SPDX-License-Identifier: Apache-2.0 */
/* text_format.c - conversion of protobuf's text format to its wire format. */
#define _GNU_SOURCE
#include "reader/ncu/text_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/varint.h"
#include "reader/ncu/depth.h"
#include "reader/ncu/text_lexer.h"

#define FIELDS_MAX 64u /* fields of a message */
#define WORD_SHOWN 64

struct packing {
	struct text_lexer lexer;
	struct text_token token; /* the next token */
	struct buffer out;
	text_problem_visitor *problem;
	void *user;
	int error; /* the first error; parsing stops there */
};

static int pack_fields(struct packing *p, const ProtobufCMessageDescriptor *type, unsigned depth);

/* ---- problems ---- */

__attribute__((format(printf, 4, 5))) static void problem_report(
	struct packing *p, const struct text_token *at, bool is_warning, const char *format, ...)
{
	struct text_problem problem = {
		.line = at->line, .column = at->column, .is_warning = is_warning};
	va_list list;
	if (p->error)
		return;
	va_start(list, format);
	vsnprintf(problem.text, sizeof(problem.text), format, list);
	va_end(list);
	p->problem(p->user, &problem);
	if (!is_warning)
		p->error = -EINVAL;
}

static int shown_bytes(const struct text_token *t)
{
	return t->bytes < WORD_SHOWN ? (int)t->bytes : WORD_SHOWN;
}

static void expected_report(struct packing *p, const char *what)
{
	const struct text_token *t = &p->token;
	if (t->kind == TEXT_BROKEN)
		problem_report(p, t, false, "%s", p->lexer.cause);
	else if (t->kind == TEXT_END)
		problem_report(p, t, false, "expected %s before the end of the text", what);
	else
		problem_report(p, t, false, "expected %s, not %.*s", what, shown_bytes(t), t->text);
}

/* ---- bytes ---- */

static void put(struct packing *p, const void *data, size_t bytes)
{
	int error = buffer_add(&p->out, data, bytes);
	p->error = p->error ? p->error : error;
}

static void put_varint(struct packing *p, uint64_t value)
{
	uint8_t room[VARINT_MAX], *end = varint_put(room, value);
	put(p, room, (size_t)(end - room));
}

static void put_tag(struct packing *p, uint32_t field, enum wire_type type)
{
	put_varint(p, (uint64_t)field << 3 | type);
}

/* Insert at `begin` the size of the data written after it. */
static void put_size_at(struct packing *p, size_t begin)
{
	const size_t bytes = p->out.bytes - begin, room = varint_bytes(bytes);
	put(p, "\0\0\0\0\0\0\0\0\0", room);
	if (p->error)
		return;
	memmove(p->out.data + begin + room, p->out.data + begin, bytes);
	varint_put(p->out.data + begin, bytes);
}

/* ---- tokens ---- */

static void next(struct packing *p)
{
	text_lex(&p->lexer, &p->token);
}

static bool is_mark(const struct packing *p, char mark)
{
	return p->token.kind == TEXT_MARK && *p->token.text == mark;
}

static bool take_mark(struct packing *p, char mark)
{
	if (!is_mark(p, mark))
		return false;
	next(p);
	return true;
}

static bool is_word(const struct text_token *t, const char *word)
{
	return t->kind == TEXT_WORD && strlen(word) == t->bytes && !memcmp(t->text, word, t->bytes);
}

/* ---- scalars ---- */

/* Parse a whole number: decimal, 0x or, with a leading 0, octal. */
static bool token_integer(const struct text_token *t, uint64_t *ret_value)
{
	char digits[32], *end;
	if (t->kind != TEXT_NUMBER || t->bytes >= sizeof(digits))
		return false;
	memcpy(digits, t->text, t->bytes);
	digits[t->bytes] = 0;
	errno = 0;
	*ret_value = strtoull(digits, &end, 0);
	return !*end && !errno;
}

/* Write an integer. A negative number is its two's complement, as in the wire format. */
static void pack_integer(struct packing *p, const ProtobufCFieldDescriptor *f)
{
	const bool is_signed = f->type == PROTOBUF_C_TYPE_INT32 || f->type == PROTOBUF_C_TYPE_INT64;
	const bool is_wide = f->type == PROTOBUF_C_TYPE_INT64 || f->type == PROTOBUF_C_TYPE_UINT64;
	const bool negative = take_mark(p, '-');
	uint64_t value, most = is_wide ? UINT64_MAX : UINT32_MAX;
	if (is_signed)
		most = most / 2 + negative;
	if (!token_integer(&p->token, &value)) {
		expected_report(p, "an integer");
	} else if (value > most || (negative && !is_signed)) {
		problem_report(p, &p->token, false, "%s%.*s is out of range", negative ? "-" : "",
			shown_bytes(&p->token), p->token.text);
	} else {
		put_tag(p, f->id, WIRE_VARINT);
		put_varint(p, negative ? 0 - value : value);
		next(p);
	}
}

static bool token_double(const struct text_token *t, double *ret_value)
{
	char digits[64], *end;
	if (is_word(t, "inf") || is_word(t, "nan") || t->kind == TEXT_NUMBER) {
		if (t->bytes >= sizeof(digits))
			return false;
		memcpy(digits, t->text, t->bytes);
		digits[t->bytes] = 0;
		*ret_value = strtod(digits, &end);
		return !*end || ((*end | 32) == 'f' && !end[1]);
	}
	return false;
}

static void pack_real(struct packing *p, const ProtobufCFieldDescriptor *f)
{
	const bool negative = take_mark(p, '-');
	double value;
	if (!token_double(&p->token, &value)) {
		expected_report(p, "a number");
		return;
	}
	value = negative ? -value : value;
	if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
		put_tag(p, f->id, WIRE_FIXED64);
		put(p, &value, 8);
	} else {
		float narrow = (float)value;
		put_tag(p, f->id, WIRE_FIXED32);
		put(p, &narrow, 4);
	}
	next(p);
}

static void pack_bool(struct packing *p, const ProtobufCFieldDescriptor *f)
{
	static const char *const words[2][4] = {
		{"false", "False", "f", "0"}, {"true", "True", "t", "1"}};
	for (unsigned value = 0; value < 2; value++)
		for (unsigned i = 0; i < 4; i++) {
			const struct text_token *t = &p->token;
			if (t->bytes != strlen(words[value][i]) ||
				memcmp(t->text, words[value][i], t->bytes) != 0)
				continue;
			put_tag(p, f->id, WIRE_VARINT);
			put_varint(p, value);
			next(p);
			return;
		}
	expected_report(p, "true or false");
}

/* Find the value of an enumeration. Its name may have the name of the enumeration as prefix:
 * both forms are in use. */
static const ProtobufCEnumValue *enum_value(
	const ProtobufCEnumDescriptor *type, const struct text_token *t)
{
	char name[2 * WORD_SHOWN];
	if (t->kind != TEXT_WORD || t->bytes >= WORD_SHOWN)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)t->bytes, t->text);
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value_by_name(type, name);
	if (value)
		return value;
	snprintf(name, sizeof(name), "%.60s_%.*s", type->short_name, (int)t->bytes, t->text);
	return protobuf_c_enum_descriptor_get_value_by_name(type, name);
}

/* Write a value of an enumeration, given by name or number. A number may be unknown to this
 * version. */
static void pack_enum(struct packing *p, const ProtobufCFieldDescriptor *f)
{
	const struct text_token *t = &p->token;
	uint64_t number;
	if (token_integer(t, &number) && number <= INT32_MAX) {
		put_tag(p, f->id, WIRE_VARINT);
		put_varint(p, number);
		next(p);
		return;
	}
	const ProtobufCEnumValue *value = enum_value(f->descriptor, t);
	if (value) {
		put_tag(p, f->id, WIRE_VARINT);
		put_varint(p, (uint64_t)(int64_t)value->value);
		next(p);
	} else if (t->kind == TEXT_WORD) {
		problem_report(
			p, t, false, "%s has no value %.*s", f->name, shown_bytes(t), t->text);
	} else {
		expected_report(p, "the name of a value");
	}
}

/* ---- texts ---- */

static int digit_of(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : 16;
}

/* Decode the byte of \ooo or \xhh, at most `digits` digits. Returns the position after them. */
static const char *unescape_number(
	const char *at, const char *end, int base, unsigned digits, unsigned char *ret_byte)
{
	unsigned value = 0;
	for (unsigned i = 0; i < digits && at < end && digit_of(*at) < base; i++)
		value = value * (unsigned)base + (unsigned)digit_of(*at++);
	*ret_byte = (unsigned char)value;
	return at;
}

/* Decode one escape; `at` is after the backslash. Returns the position after it, or NULL if
 * invalid. */
static const char *unescape(const char *at, const char *end, unsigned char *ret_byte)
{
	static const char letters[] = "abfnrtv\\'\"?", bytes[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *letter = *at ? strchr(letters, *at) : NULL;
	if (letter) {
		*ret_byte = (unsigned char)bytes[letter - letters];
		return at + 1;
	}
	if (digit_of(*at) < 8)
		return unescape_number(at, end, 8, 3, ret_byte);
	if ((*at | 32) == 'x' && end - at > 1 && digit_of(at[1]) < 16)
		return unescape_number(at + 1, end, 16, 2, ret_byte);
	return NULL;
}

/* Write the bytes of one quoted text. A NUL is refused, since it would end the text for readers. */
static void put_text(struct packing *p)
{
	const struct text_token t = p->token;
	const char *at = t.text + 1, *end = t.text + t.bytes - 1;
	while (at < end && !p->error) {
		unsigned char byte = (unsigned char)*at++;
		if (byte == '\\' && at < end)
			at = unescape(at, end, &byte);
		if (!at || !byte)
			problem_report(p, &t, false,
				at ? "zero byte in a string" : "unknown escape in a string");
		else
			put(p, &byte, 1);
		if (!at)
			return;
	}
}

/* Write a text. Adjacent quoted texts are joined. */
static void pack_string(struct packing *p, const ProtobufCFieldDescriptor *f)
{
	put_tag(p, f->id, WIRE_BYTES);
	const size_t begin = p->out.bytes;
	if (p->token.kind != TEXT_STRING)
		expected_report(p, "a string");
	while (!p->error && p->token.kind == TEXT_STRING) {
		put_text(p);
		next(p);
	}
	put_size_at(p, begin);
}

/* ---- messages ---- */

static void pack_message(struct packing *p, const ProtobufCFieldDescriptor *f, unsigned depth)
{
	const char end = is_mark(p, '<') ? '>' : '}';
	if (depth >= MESSAGE_DEPTH_MAX) {
		problem_report(p, &p->token, false, "messages are nested too deeply");
		return;
	}
	if (!take_mark(p, '<') && !take_mark(p, '{')) {
		expected_report(p, "{");
		return;
	}
	put_tag(p, f->id, WIRE_BYTES);
	const size_t begin = p->out.bytes;
	if (pack_fields(p, f->descriptor, depth + 1))
		return;
	put_size_at(p, begin);
	if (!take_mark(p, end))
		expected_report(p, end == '}' ? "a field or }" : "a field or >");
}

static void pack_value(struct packing *p, const ProtobufCFieldDescriptor *f, unsigned depth)
{
	switch ((int)f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_UINT64:
		pack_integer(p, f);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		pack_real(p, f);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		pack_bool(p, f);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		pack_enum(p, f);
		break;
	case PROTOBUF_C_TYPE_STRING:
		pack_string(p, f);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		pack_message(p, f, depth);
		break;
	default:
		problem_report(p, &p->token, false, "%s cannot be set in text", f->name);
	}
}

/* Parse "[a, b]" of a repeated field. */
static void pack_list(struct packing *p, const ProtobufCFieldDescriptor *f, unsigned depth)
{
	if (take_mark(p, ']'))
		return;
	do
		pack_value(p, f, depth);
	while (!p->error && take_mark(p, ','));
	if (!p->error && !take_mark(p, ']'))
		expected_report(p, ", or ]");
}

/* Skip the value of an unknown field; brackets are only counted. */
static void skip_value(struct packing *p)
{
	unsigned open = 0;
	take_mark(p, '-');
	do {
		const bool is_text = p->token.kind == TEXT_STRING;
		if (is_mark(p, '{') || is_mark(p, '[') || is_mark(p, '<'))
			open++;
		else if (open && (is_mark(p, '}') || is_mark(p, ']') || is_mark(p, '>')))
			open--;
		else if (p->token.kind == TEXT_END || p->token.kind == TEXT_BROKEN ||
			(!open && p->token.kind == TEXT_MARK))
			expected_report(p, "a value");
		next(p);
		if (!open && (!is_text || p->token.kind != TEXT_STRING))
			return;
	} while (!p->error);
}

/* Return whether the token names the field, ignoring case and underscores. */
static bool is_named(const struct text_token *t, const char *name)
{
	const char *at = t->text, *end = t->text + t->bytes;
	for (;; at++, name++) {
		while (at < end && *at == '_')
			at++;
		while (*name == '_')
			name++;
		if (at == end || !*name)
			return at == end && !*name;
		const char lower = *at >= 'A' && *at <= 'Z' ? (char)(*at | 32) : *at;
		if (lower != *name)
			return false;
	}
}

static const ProtobufCFieldDescriptor *field_named(
	const ProtobufCMessageDescriptor *type, const struct text_token *t)
{
	for (unsigned i = 0; i < type->n_fields && i < FIELDS_MAX; i++)
		if (is_named(t, type->fields[i].name))
			return &type->fields[i];
	return NULL;
}

/* Parse a field and its name. *seen: the fields parsed so far (bits), since most may be set only
 * once. */
static void pack_field(
	struct packing *p, const ProtobufCMessageDescriptor *type, unsigned depth, uint64_t *seen)
{
	const struct text_token name = p->token;
	const ProtobufCFieldDescriptor *f = field_named(type, &name);
	next(p);
	const bool has_colon = take_mark(p, ':');
	if (!f) {
		problem_report(p, &name, true, "%s has no field %.*s: left out", type->short_name,
			shown_bytes(&name), name.text);
		if (has_colon || is_mark(p, '{') || is_mark(p, '<'))
			skip_value(p);
		else
			expected_report(p, ":");
		return;
	}
	const uint64_t bit = 1ull << (f - type->fields);
	if (f->label != PROTOBUF_C_LABEL_REPEATED && (*seen & bit))
		problem_report(p, &name, false, "%.*s is set twice", shown_bytes(&name), name.text);
	*seen |= bit;
	if (!has_colon && f->type != PROTOBUF_C_TYPE_MESSAGE)
		expected_report(p, ":");
	else if (f->label == PROTOBUF_C_LABEL_REPEATED && take_mark(p, '['))
		pack_list(p, f, depth);
	else
		pack_value(p, f, depth);
}

/* Parse fields up to the first token that is not a field name. Returns p->error. */
static int pack_fields(struct packing *p, const ProtobufCMessageDescriptor *type, unsigned depth)
{
	uint64_t seen = 0;
	while (!p->error && p->token.kind == TEXT_WORD) {
		pack_field(p, type, depth, &seen);
		if (!p->error && !take_mark(p, ','))
			take_mark(p, ';');
	}
	return p->error;
}

int text_format_pack(const ProtobufCMessageDescriptor *type, const char *text, size_t bytes,
	text_problem_visitor *problem, void *user, uint8_t **ret_bytes, size_t *ret_count)
{
	struct packing p = {.problem = problem, .user = user};
	text_lexer_init(&p.lexer, text, bytes);
	put(&p, "", 1); /* so that an empty message is not NULL */
	p.out.bytes = 0;
	next(&p);
	pack_fields(&p, type, 0);
	if (!p.error && p.token.kind != TEXT_END)
		expected_report(&p, "a field");
	if (p.error)
		free(p.out.data);
	*ret_bytes = p.error ? NULL : p.out.data;
	*ret_count = p.error ? 0 : p.out.bytes;
	return p.error;
}
