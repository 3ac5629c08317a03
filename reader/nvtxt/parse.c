/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - the statements of NVTXT: assignments, definitions, calls. */
#include "reader/nvtxt/parse.h"

#include <errno.h>
#include <string.h>

#include "reader/base/lines.h"
#include "reader/nvtxt/call.h"
#include "reader/nvtxt/state.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static const char *quoted(char *room, size_t room_bytes, const char *text)
{
	size_t length = 0;
	for (; text[length] && length + 5 < room_bytes; length++)
		room[length] =
			(uint8_t)text[length] < ' ' || text[length] == 0x7f ? '?' : text[length];
	memcpy(room + length, text[length] ? "..." : "", text[length] ? 4 : 1);
	return room;
}

#define QUOTED_BYTES 48u
#define QUOTED(text) quoted((char[QUOTED_BYTES]){0}, QUOTED_BYTES, text)

static const char *keep(struct nvtxt_file *f, const struct nvtxt_token *t)
{
	const char *text = pool_text(f->pool, t->text, t->bytes);
	f->broken |= !text;
	return text ? text : "";
}

static bool is_name(const char *text)
{
	struct nvtxt_lexer lexer;
	struct nvtxt_token token;
	nvtxt_lexer_init(&lexer, text, strlen(text));
	nvtxt_lex(&lexer, &token);
	return token.kind == NVTXT_WORD && lexer.at == lexer.end && !lexer.comment;
}

/* Replace $Name by the value last assigned. Values that calls leave in arguments do not count. */
static bool expand(struct nvtxt_file *f, struct nvtxt_token *t)
{
	const char *text = keep(f, t);
	const struct nvtxt_name *name = nvtxt_name(f, text);
	if (!name || !name->is_assigned) {
		nvtxt_file_problem(f, NVTXT_LEXING_ERROR, f->line, t->column,
			"variable '%s' is not assigned", QUOTED(text));
		return false;
	}
	if (name->value.kind == NVTXT_NUMBER) {
		t->kind = NVTXT_INTEGER;
		t->integer = name->value.integer;
	} else {
		t->kind = is_name(name->value.text) ? NVTXT_WORD : NVTXT_STRING;
		t->text = name->value.text;
		t->bytes = strlen(t->text);
	}
	return true;
}

/* Read the next token into state->token, with variables replaced by their values. Returns false if
 * the token is broken, which was reported. */
static bool next(struct nvtxt_file *f)
{
	struct nvtxt_state *s = f->state;
	nvtxt_lex(&s->lexer, &s->token);
	if (s->token.kind == NVTXT_BROKEN)
		nvtxt_file_problem(
			f, NVTXT_LEXING_ERROR, f->line, s->token.column, "%s", s->lexer.cause);
	return s->token.kind != NVTXT_BROKEN &&
		(s->token.kind != NVTXT_VARIABLE || expand(f, &s->token));
}

static bool parsing_error(struct nvtxt_file *f, uint32_t column, const char *text)
{
	nvtxt_file_problem(f, NVTXT_PARSING_ERROR, f->line, column, "%s", text);
	return false;
}

static bool is_value(const struct nvtxt_token *t)
{
	return t->kind == NVTXT_WORD || t->kind == NVTXT_STRING || t->kind == NVTXT_INTEGER;
}

static struct nvtxt_value value_of(struct nvtxt_file *f, const struct nvtxt_token *t)
{
	if (t->kind == NVTXT_INTEGER)
		return (struct nvtxt_value){NVTXT_NUMBER, t->integer, NULL};
	return (struct nvtxt_value){NVTXT_TEXT, 0, keep(f, t)};
}

/* Read { "," value } [ "," ] up to the end of the line into the items. */
static bool items_read(struct nvtxt_file *f)
{
	struct nvtxt_state *s = f->state;
	s->item_count = 0;
	while (s->token.kind == NVTXT_COMMA) {
		if (!next(f))
			return false;
		if (s->token.kind == NVTXT_LINE_END)
			return true;
		if (!is_value(&s->token))
			return parsing_error(f, s->token.column, "missing value");
		if (s->item_count == NVTXT_ITEMS_MAX)
			return parsing_error(f, s->token.column, "too many values");
		s->items[s->item_count++] =
			(struct nvtxt_item){value_of(f, &s->token), s->token.column};
		if (!next(f))
			return false;
	}
	if (s->token.kind == NVTXT_LINE_END)
		return true;
	return parsing_error(f, s->token.column, "expected a comma between values");
}

/* ---- assignments ---- */

/* Report an assignment that NVIDIA's importer would refuse; it is accepted here. */
static void assignment_judge(struct nvtxt_file *f, int argument, const char *name, uint32_t column,
	const struct nvtxt_value *value)
{
	enum nvtxt_problem_kind kind;
	bool known = true;
	if (argument < 0) {
		nvtxt_file_problem(f, NVTXT_REFUSED, f->line, column,
			"variable '%s' is not an argument", QUOTED(name));
		return;
	}
	const char *cause = nvtxt_value_check((enum nvtxt_argument)argument, value, &kind);
	if (!cause && argument == NVTXT_TIME_BASE) {
		nvtxt_clock_kind(value->text, &known);
		cause = known ? NULL : "unknown time base";
	}
	if (cause)
		nvtxt_file_problem(
			f, NVTXT_REFUSED, f->line, column, "value of %s: %s", name, cause);
}

static void assignment(struct nvtxt_file *f, const char *name, uint32_t name_column)
{
	struct nvtxt_state *s = f->state;
	if (!next(f))
		return;
	if (!is_value(&s->token)) {
		parsing_error(f, s->token.column, "missing value");
		return;
	}
	struct nvtxt_value value = value_of(f, &s->token);
	uint32_t value_column = s->token.column;
	if (!next(f))
		return;
	if (s->token.kind != NVTXT_LINE_END) {
		parsing_error(f, s->token.column, "an assignment takes one value");
		return;
	}
	int argument = nvtxt_argument_find(name);
	assignment_judge(f, argument, name, argument < 0 ? name_column : value_column, &value);
	if (argument >= 0)
		s->current[argument] = value;
	struct nvtxt_name *variable = nvtxt_name(f, name);
	if (variable) {
		variable->is_assigned = true;
		variable->value = value;
	}
}

/* ---- definitions ---- */

static void definition(struct nvtxt_file *f)
{
	struct nvtxt_state *s = f->state;
	const char *name = keep(f, &s->token);
	struct nvtxt_definition d = {.line = f->line};
	if (!next(f) || !items_read(f))
		return;
	if (!s->item_count) {
		parsing_error(f, s->token.column, "a definition must list at least one argument");
		return;
	}
	for (; d.count < s->item_count; d.count++) {
		const struct nvtxt_item *item = &s->items[d.count];
		if (item->value.kind != NVTXT_TEXT || !is_name(item->value.text)) {
			parsing_error(f, item->column, "expected a name: a definition lists names");
			return;
		}
		d.arguments[d.count] = (int8_t)nvtxt_argument_find(item->value.text);
		if (d.arguments[d.count] < 0)
			nvtxt_file_problem(f, NVTXT_WARNING, f->line, item->column,
				"unknown argument '%s': its values are ignored",
				QUOTED(item->value.text));
	}
	int command = nvtxt_command_find(name);
	if (command >= 0)
		s->definitions[command] = d;
	struct nvtxt_name *defined = nvtxt_name(f, name);
	if (defined)
		defined->is_defined = true;
}

/* ---- lines ---- */

/* Read a statement. Returns false if the line is empty. */
static bool statement(struct nvtxt_file *f)
{
	struct nvtxt_state *s = f->state;
	if (!next(f))
		return true;
	if (s->token.kind == NVTXT_LINE_END)
		return false;
	uint32_t column = s->token.column;
	if (s->token.kind == NVTXT_COMMAND) {
		definition(f);
		return true;
	}
	if (s->token.kind != NVTXT_WORD) {
		parsing_error(f, column, "expected a name or @ at the start of a line");
		return true;
	}
	const char *name = keep(f, &s->token);
	if (!next(f))
		return true;
	if (s->token.kind == NVTXT_EQUALS)
		assignment(f, name, column);
	else if (s->token.kind != NVTXT_COMMA && s->token.kind != NVTXT_LINE_END)
		parsing_error(f, s->token.column, "expected a comma or = after the name");
	else if (items_read(f))
		nvtxt_call(f, name, column);
	return true;
}

/* Apply the libtrace comment of a line, which may have no statement. */
static void note_take(struct nvtxt_file *f)
{
	const struct nvtxt_note *n = &f->state->note;
	if (n->word == NVTXT_NOTE_FILE) {
		f->is_ours = true;
		f->origin_ns = n->origin;
	} else if (n->word == NVTXT_NOTE_NAME && f->is_ours && n->process <= UINT32_MAX &&
		n->thread <= UINT32_MAX && n->time <= INT64_MAX) {
		nvtxt_event_add(f,
			&(struct nvtxt_event){.kind = NVTXT_EVENT_NAME,
				.line = f->line,
				.column = 1,
				.start = (int64_t)n->time,
				.end = (int64_t)n->time,
				.process = (uint32_t)n->process,
				.thread = (uint32_t)n->thread,
				.what = (uint32_t)n->what,
				.type = (uint32_t)n->type,
				.identifier = n->identifier,
				.domain = n->domain,
				.text = n->text});
	}
}

/* Read the comment at the end of the line, before the statement. */
static void note_read(struct nvtxt_file *f)
{
	struct nvtxt_state *s = f->state;
	struct nvtxt_token token;
	s->note = (struct nvtxt_note){0};
	if (!memchr(s->lexer.begin, '#', (size_t)(s->lexer.end - s->lexer.begin)))
		return;
	do
		nvtxt_lex(&s->lexer, &token);
	while (token.kind != NVTXT_LINE_END && token.kind != NVTXT_BROKEN);
	if (!s->lexer.comment)
		return;
	int error = nvtxt_note_read(&s->note, f->pool, s->lexer.comment,
		(size_t)(s->lexer.line_end - s->lexer.comment));
	f->broken |= error == -ENOMEM;
	if (error < 0)
		s->note = (struct nvtxt_note){0};
	if (error == -EBADMSG)
		nvtxt_file_problem(f, NVTXT_WARNING, f->line,
			(uint32_t)(s->lexer.comment - s->lexer.begin) + 1,
			"libtrace comment with an invalid value: ignored");
}

int nvtxt_file_line(struct nvtxt_file *f, const char *line, size_t bytes)
{
	struct nvtxt_state *s = f->state;
	const size_t mark = sizeof(BYTE_ORDER_MARK) - 1;
	if (!f->line++ && bytes >= mark && !memcmp(line, BYTE_ORDER_MARK, mark)) {
		line += mark;
		bytes -= mark;
	}
	bytes -= bytes && line[bytes - 1] == '\r';
	nvtxt_lexer_init(&s->lexer, line, bytes);
	note_read(f);
	nvtxt_lexer_init(&s->lexer, line, bytes);
	uint64_t errors = nvtxt_file_errors(f);
	bool is_statement = statement(f);
	f->understood += is_statement && errors == nvtxt_file_errors(f);
	note_take(f);
	return f->broken ? -ENOMEM : 0;
}

static int visit_line(void *user, const char *line, size_t bytes, bool too_long)
{
	struct nvtxt_file *f = user;
	if (!too_long)
		return nvtxt_file_line(f, line, bytes);
	f->line++;
	nvtxt_file_problem(f, NVTXT_LEXING_ERROR, f->line, LINE_BYTES_MAX,
		"line of more than %u bytes", LINE_BYTES_MAX);
	return 0;
}

int nvtxt_file_read(struct nvtxt_file *f, int fd)
{
	const struct lines_visitor visitor = {f, visit_line};
	struct lines_sum sum;
	int error = lines_read(fd, &visitor, &sum);
	f->bytes = sum.bytes;
	f->crc = sum.crc;
	return error;
}
