/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - calls of NVTXT commands: assigns their values to arguments, and creates the event. */
#include "reader/nvtxt/call.h"

#include <string.h>

#include "common/spool.h"
#include "reader/file/schema.h"

/* A call, and the arguments that apply to it. */
struct call {
	enum nvtxt_command command;
	uint32_t column;
	struct nvtxt_value arguments[NVTXT_ARGUMENTS]; /* current arguments, overridden by the
							* arguments of the call */
};

const char *nvtxt_value_check(enum nvtxt_argument argument, const struct nvtxt_value *value,
	enum nvtxt_problem_kind *ret_error)
{
	enum nvtxt_type type = nvtxt_arguments[argument].type;
	*ret_error = NVTXT_PARSING_ERROR;
	if (value->kind == NVTXT_TEXT && type == NVTXT_TYPE_INTEGER)
		return "expected a number";
	if (value->kind == NVTXT_NUMBER && type == NVTXT_TYPE_STRING)
		return "expected a text";
	*ret_error = NVTXT_RANGE_ERROR;
	if (value->kind != NVTXT_NUMBER || argument == NVTXT_PAYLOAD || argument == NVTXT_COLOR)
		return NULL;
	if (value->integer < 0)
		return "it must not be negative";
	if ((argument == NVTXT_PROCESS_ID || argument == NVTXT_THREAD_ID) &&
		value->integer > NVTXT_IDS_MAX)
		return "it exceeds 16777215";
	if (argument == NVTXT_CATEGORY_ID && value->integer > UINT32_MAX)
		return "it exceeds 4294967295";
	return NULL;
}

/* Report a value that the argument does not accept, at `column`; 0 = a variable's value, reported
 * at the command. */
static bool argument_check(struct nvtxt_file *f, const struct call *c, enum nvtxt_argument argument,
	const struct nvtxt_value *value, uint32_t column)
{
	enum nvtxt_problem_kind kind;
	const char *cause = nvtxt_value_check(argument, value, &kind);
	if (cause)
		nvtxt_file_problem(f, kind, f->line, column ? column : c->column, "%s%s: %s",
			nvtxt_arguments[argument].name, column ? "" : ", as assigned", cause);
	return !cause;
}

static bool layout_fits(const struct nvtxt_state *s, const int8_t *arguments, uint32_t count)
{
	enum nvtxt_problem_kind kind;
	for (uint32_t i = 0; i < count; i++)
		if (arguments[i] < 0 ||
			nvtxt_value_check(
				(enum nvtxt_argument)arguments[i], &s->items[i].value, &kind))
			return false;
	return count == s->item_count;
}

static void base_judge(struct nvtxt_file *f, const char *name, uint32_t column)
{
	bool known;
	nvtxt_clock_kind(name, &known);
	if (!known)
		nvtxt_file_problem(
			f, NVTXT_REFUSED, f->line, column, "value of TimeBase: unknown time base");
}

static bool values_take(struct nvtxt_file *f, struct call *c, const int8_t *arguments,
	uint32_t count, uint32_t defined_line)
{
	const struct nvtxt_state *s = f->state;
	if (count != s->item_count) {
		if (defined_line)
			nvtxt_file_problem(f, NVTXT_PARSING_ERROR, f->line, c->column,
				"%u values; the definition in line %u has %u arguments",
				s->item_count, defined_line, count);
		else
			nvtxt_file_problem(f, NVTXT_PARSING_ERROR, f->line, c->column,
				"%u values; %s has %u arguments", s->item_count,
				nvtxt_commands[c->command].name, count);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		enum nvtxt_argument argument = (enum nvtxt_argument)arguments[i];
		const struct nvtxt_item *item = &s->items[i];
		if (arguments[i] < 0) {
			nvtxt_file_problem(f, NVTXT_REFUSED, f->line, item->column,
				"value of an unknown argument");
			continue;
		}
		if (!argument_check(f, c, argument, &item->value, item->column))
			return false;
		if (argument == NVTXT_TIME_BASE)
			base_judge(f, item->value.text, item->column);
		c->arguments[argument] = item->value;
	}
	return true;
}

/* Assign the values of the line to arguments, in the order that applies to the command. */
static bool arguments_take(struct nvtxt_file *f, struct call *c)
{
	const struct nvtxt_command_row *row = &nvtxt_commands[c->command];
	const struct nvtxt_definition *d = &f->state->definitions[c->command];
	const int8_t *own = (const int8_t *)row->arguments;
	bool use_own = row->layout == NVTXT_LAYOUT_FIXED
		? !d->line || !layout_fits(f->state, d->arguments, d->count)
		: row->layout == NVTXT_LAYOUT_DEFAULT && !d->line;
	if (!use_own && !d->line) {
		nvtxt_file_problem(f, NVTXT_PARSING_ERROR, f->line, c->column,
			"%s is not defined: a line '@%s, ...' must precede it", row->name,
			row->name);
		return false;
	}
	if (row->layout == NVTXT_LAYOUT_DEFAULT && use_own)
		nvtxt_file_problem(
			f, NVTXT_REFUSED, f->line, c->column, "%s without a definition", row->name);
	if (row->layout == NVTXT_LAYOUT_FIXED && !use_own &&
		(d->count != row->count || memcmp(d->arguments, own, d->count)))
		nvtxt_file_problem(f, NVTXT_REFUSED, f->line, c->column,
			"%s with arguments of its own", row->name);
	return use_own ? values_take(f, c, own, row->count, 0)
		       : values_take(f, c, d->arguments, d->count, d->line);
}

/* ---- arguments as members of the event ---- */

static uint32_t color_of(struct nvtxt_file *f, const struct call *c)
{
	const struct nvtxt_value *v = &c->arguments[NVTXT_COLOR];
	if (v->kind == NVTXT_NUMBER)
		return (uint64_t)v->integer > UINT32_MAX ? UINT32_MAX : (uint32_t)v->integer;
	uint32_t color = v->kind == NVTXT_TEXT ? nvtxt_color(v->text) : 0;
	if (v->kind == NVTXT_TEXT && !color)
		nvtxt_file_problem(f, NVTXT_WARNING, f->line, c->column, "unknown color");
	return color;
}

static bool base_take(struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	const struct nvtxt_value *v = &c->arguments[NVTXT_TIME_BASE];
	if (v->kind != NVTXT_TEXT) {
		nvtxt_file_problem(
			f, NVTXT_PARSING_ERROR, f->line, c->column, "TimeBase is not set");
		return false;
	}
	while (e->base < f->base_count && f->bases[e->base] != v->text)
		e->base++;
	if (e->base == NVTXT_BASES_MAX) {
		nvtxt_file_problem(f, NVTXT_RANGE_ERROR, f->line, c->column,
			"more than %u time bases", NVTXT_BASES_MAX);
		return false;
	}
	f->base_count += e->base == f->base_count;
	f->bases[e->base] = v->text;
	return true;
}

/* Return a time; a missing time is 0, as in NVIDIA's importer. */
static int64_t time_of(struct nvtxt_file *f, const struct call *c, enum nvtxt_argument argument)
{
	const struct nvtxt_value *v = &c->arguments[argument];
	if (v->kind == NVTXT_UNSET)
		nvtxt_file_problem(f, NVTXT_WARNING, f->line, c->column, "%s is missing: using 0",
			nvtxt_arguments[argument].name);
	return v->integer;
}

static bool times_take(struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	bool is_range = c->command == NVTXT_CALL_RANGE_START_END;
	if (!base_take(f, c, e))
		return false;
	e->start = time_of(f, c, is_range ? NVTXT_START : NVTXT_TIME);
	e->end = is_range ? time_of(f, c, NVTXT_END) : e->start;
	if (e->end < e->start) {
		nvtxt_file_problem(f, NVTXT_RANGE_ERROR, f->line, c->column,
			"the range ends before it starts");
		return false;
	}
	if (is_range && e->end == e->start)
		nvtxt_file_problem(f, NVTXT_IGNORED, f->line, c->column, "range without length");
	return true;
}

static void payload_take(const struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	const struct nvtxt_note *n = &f->state->note;
	const struct nvtxt_value *v = &c->arguments[NVTXT_PAYLOAD];
	if (n->word == NVTXT_NOTE_EVENT) {
		e->payload_type = n->payload_type <= PAYLOAD_FLOAT ? (uint32_t)n->payload_type : 0;
		e->payload = n->payload;
	} else if (!f->is_ours && v->kind == NVTXT_NUMBER) {
		e->payload_type = PAYLOAD_INT64;
		e->payload = (uint64_t)v->integer;
	}
}

/* Set the text; strip the "domain:" prefix when the comment names the domain. */
static void text_take(const struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	const struct nvtxt_note *n = &f->state->note;
	e->text = c->arguments[NVTXT_MESSAGE].text;
	if (n->word != NVTXT_NOTE_EVENT)
		return;
	size_t bytes = n->domain ? strlen(n->domain) : 0;
	e->domain = n->domain;
	if (n->text)
		e->text = n->text;
	else if (bytes && e->text && !strncmp(e->text, n->domain, bytes) && e->text[bytes] == ':')
		e->text = pool_text(f->pool, e->text + bytes + 1, strlen(e->text) - bytes - 1);
}

static void note_apply(const struct nvtxt_file *f, struct nvtxt_event *e)
{
	const struct nvtxt_note *n = &f->state->note;
	e->start_thread = e->thread;
	if (n->word != NVTXT_NOTE_EVENT)
		return;
	e->flags = (uint32_t)n->flags &
		(RECORD_UNFINISHED | RECORD_TEXT_CUT | RECORD_TEXT_NAMED | RECORD_PAYLOAD_CUT);
	e->has_level = n->has_level && n->level <= UINT32_MAX;
	e->level = e->has_level ? (uint32_t)n->level : 0;
	e->identifier = n->range;
	if (n->instant)
		e->end = e->start; /* exporters write a longer range, because NVIDIA's importer
				    * drops empty ranges */
	if (n->has_start_thread && n->start_thread <= UINT32_MAX)
		e->start_thread = (uint32_t)n->start_thread;
}

static bool timed_event(struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	e->kind = c->command == NVTXT_CALL_MARKER     ? NVTXT_EVENT_MARK
		: c->command == NVTXT_CALL_RANGE_PUSH ? NVTXT_EVENT_PUSH
		: c->command == NVTXT_CALL_RANGE_POP  ? NVTXT_EVENT_POP
						      : NVTXT_EVENT_RANGE;
	if (!times_take(f, c, e))
		return false;
	if (e->kind != NVTXT_EVENT_POP) {
		e->category = (uint32_t)c->arguments[NVTXT_CATEGORY_ID].integer;
		e->color = color_of(f, c);
		payload_take(f, c, e);
		text_take(f, c, e);
	}
	note_apply(f, e);
	return true;
}

static bool name_event(struct nvtxt_file *f, const struct call *c, struct nvtxt_event *e)
{
	e->kind = NVTXT_EVENT_NAME;
	e->text = c->arguments[NVTXT_NAME].text;
	e->what = c->command == NVTXT_CALL_NAME_PROCESS ? NAMED_PROCESS
		: c->command == NVTXT_CALL_NAME_THREAD  ? NAMED_THREAD
							: NAMED_CATEGORY;
	e->identifier = e->what == NAMED_PROCESS ? e->process
		: e->what == NAMED_THREAD        ? e->thread
					  : (uint64_t)c->arguments[NVTXT_CATEGORY_ID].integer;
	if (e->what == NAMED_CATEGORY)
		nvtxt_file_problem(f, NVTXT_IGNORED, f->line, c->column, "NameCategory");
	return true;
}

static bool is_used(enum nvtxt_command command, unsigned argument)
{
	const uint32_t who = 1u << NVTXT_PROCESS_ID | 1u << NVTXT_THREAD_ID,
		       text = 1u << NVTXT_CATEGORY_ID | 1u << NVTXT_COLOR | 1u << NVTXT_MESSAGE |
		1u << NVTXT_PAYLOAD,
		       time = 1u << NVTXT_TIME | 1u << NVTXT_TIME_BASE,
		       span = 1u << NVTXT_START | 1u << NVTXT_END | 1u << NVTXT_TIME_BASE;
	uint32_t used = command == NVTXT_CALL_RANGE_START_END ? who | text | span
		: command == NVTXT_CALL_RANGE_POP             ? who | time
		: command == NVTXT_CALL_NAME_CATEGORY
		? who | 1u << NVTXT_CATEGORY_ID | 1u << NVTXT_NAME
		: command == NVTXT_CALL_MARKER || command == NVTXT_CALL_RANGE_PUSH
		? who | text | time
		: who | 1u << NVTXT_NAME;
	return used >> argument & 1;
}

/* Check the variables that the call uses for the arguments it leaves out. */
static bool variables_check(struct nvtxt_file *f, const struct call *c)
{
	for (unsigned i = 0; i < NVTXT_ARGUMENTS; i++)
		if (is_used(c->command, i) && c->arguments[i].kind != NVTXT_UNSET &&
			!argument_check(f, c, (enum nvtxt_argument)i, &c->arguments[i], 0))
			return false;
	return true;
}

static void call_run(struct nvtxt_file *f, struct call *c)
{
	struct nvtxt_state *s = f->state;
	bool is_name = c->command == NVTXT_CALL_NAME_PROCESS ||
		c->command == NVTXT_CALL_NAME_THREAD || c->command == NVTXT_CALL_NAME_CATEGORY;
	memcpy(c->arguments, s->current, sizeof(c->arguments));
	if (!arguments_take(f, c))
		return;
	if (c->command == NVTXT_CALL_FILE_NAME) {
		f->display_name = c->arguments[NVTXT_NAME].text;
		return;
	}
	if (!variables_check(f, c))
		return;
	struct nvtxt_event e = {.line = f->line,
		.column = c->column,
		.process = (uint32_t)c->arguments[NVTXT_PROCESS_ID].integer,
		.thread = (uint32_t)c->arguments[NVTXT_THREAD_ID].integer};
	if (!(is_name ? name_event(f, c, &e) : timed_event(f, c, &e)))
		return;
	/* A value in a call remains current, except in calls that set names. */
	if (!is_name)
		memcpy(s->current, c->arguments, sizeof(s->current));
	if (s->note.word != NVTXT_NOTE_SKIP)
		nvtxt_event_add(f, &e);
}

void nvtxt_call(struct nvtxt_file *f, const char *name, uint32_t column)
{
	int command = nvtxt_command_find(name);
	const struct nvtxt_name *defined = nvtxt_name(f, name);
	bool is_known = command >= 0 && nvtxt_commands[command].layout != NVTXT_LAYOUT_SKIPPED;
	struct call c = {.command = (enum nvtxt_command)command, .column = column};
	if (is_known)
		call_run(f, &c);
	else if (command >= 0 || (defined && defined->is_defined))
		nvtxt_file_problem(f, NVTXT_WARNING, f->line, column, "unknown command: ignored");
	else
		nvtxt_file_problem(f, NVTXT_PARSING_ERROR, f->line, column, "unknown command");
}
