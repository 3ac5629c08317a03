/* SPDX-License-Identifier: Apache-2.0 */
/* event_print.c - output of one event as a line of text or a JSON object. */
#define _GNU_SOURCE
#include "reader/report/event_print.h"

#include <inttypes.h>
#include <string.h>

#include "common/spool.h"
#include "reader/base/print.h"
#include "reader/nvtx/decode.h"
#include "reader/report/arguments.h"
#include "reader/report/osrt_class.h"
#include "reader/symbols/chain_print.h"
#include "reader/symbols/demangle.h"

/* Print the names a,b as "a","b". */
static void print_flags_quoted(FILE *out, uint64_t value)
{
	char names[SCHEMA_FLAGS_BYTES], *rest = names;
	const char *comma = "";
	schema_flag_names(value, names);
	while (*names && rest) {
		fprintf(out, "%s\"%s\"", comma, strsep(&rest, ","));
		comma = ",";
	}
}

static void print_flags(FILE *out, uint64_t value)
{
	char names[SCHEMA_FLAGS_BYTES];
	schema_flag_names(value, names);
	fputs(names, out);
}

/* Print a handle. Handles have 48 bits; a small negative number, such as AT_FDCWD or a pid of -1,
 * has its upper bits set. */
static void print_hex(FILE *out, uint64_t value)
{
	if (value >> 47 == 1)
		fprintf(out, "-%llu", (unsigned long long)((UINT64_C(1) << 48) - value));
	else
		fprintf(out, "0x%llx", (unsigned long long)value);
}

static uint64_t row_end_ns(const struct event_row *row)
{
	int duration = schema_column(row->event, FIELD_KIND_DURATION);
	return (uint64_t)row->values[0] + (duration > 0 ? (uint64_t)row->values[duration] : 0);
}

/* Return whether the callchain of a row begins with an instruction that was interrupted (CPU
 * samples). */
static bool is_interrupted(const struct event_row *row)
{
	int flags = schema_column(row->event, FIELD_KIND_FLAGS);
	return row->event->number == KIND_CPU_SAMPLE && flags > 0 &&
		!(row->values[flags] & RECORD_IN_STEP);
}

/* Print a name, demangled if possible, as a JSON string. */
static void print_symbol(FILE *out, struct string_ref text)
{
	char readable[DEMANGLED_BYTES_MAX];
	size_t length = text.bytes ? demangle(text.text, readable) : 0;
	print_json(out, length ? readable : text.text, length ? length : text.bytes);
}

static void print_value_text(
	FILE *out, const struct contents *c, const struct schema_field *field, int64_t value)
{
	const char *name = schema_value_name(field, value);
	struct string_ref text;
	switch (field->kind) {
	case FIELD_KIND_FUNCTION:
	case FIELD_KIND_STRING:
		text = string_table_get(&c->strings, (uint32_t)value);
		if (field->kind == FIELD_KIND_STRING)
			print_json(out, text.text, text.bytes);
		else
			print_text(out, text.text, text.bytes);
		break;
	case FIELD_KIND_SYMBOL:
		print_symbol(out, string_table_get(&c->strings, (uint32_t)value));
		break;
	case FIELD_KIND_PROTOTYPE: /* print_arguments() */
	case FIELD_KIND_WORD_COUNT:
	case FIELD_KIND_WORD:
		break;
	case FIELD_KIND_BYTES:
		text = string_table_get(&c->strings, (uint32_t)value);
		print_bytes(out, text.text, text.bytes);
		break;
	case FIELD_KIND_HEX:
	case FIELD_KIND_CODE:
		print_hex(out, (uint64_t)value);
		break;
	case FIELD_KIND_ERRNO:
		name = strerrorname_np((int)value);
		name ? fputs(name, out) : fprintf(out, "%lld", (long long)value);
		break;
	case FIELD_KIND_FLAGS:
		print_flags(out, (uint64_t)value);
		break;
	case FIELD_KIND_METHOD:
		fprintf(out, "\"%s%s%s\"", name, (uint64_t)value & CALLCHAIN_IS_CUT ? ", cut" : "",
			(uint64_t)value & CALLCHAIN_IS_LOST ? ", lost" : "");
		break;
	case FIELD_KIND_PAYLOAD_TYPE:
		fprintf(out, "\"%s\"", name);
		break;
	case FIELD_KIND_CALLCHAIN:
	case FIELD_KIND_PAYLOAD:
		print_u64(out, (uint64_t)value);
		break;
	case FIELD_KIND_INT:
	case FIELD_KIND_TIME:
		print_i64(out, value);
		break;
	case FIELD_KIND_UINT:
	case FIELD_KIND_DURATION:
		name ? (void)fprintf(out, "\"%s\"", name) : print_u64(out, (uint64_t)value);
		break;
	}
}

static uint64_t row_value(const struct event_row *row, const char *column)
{
	for (uint32_t i = 0; i < row->event->field_count; i++)
		if (!strcmp(row->event->fields[i].column, column))
			return (uint64_t)row->values[i];
	return 0;
}

/* Print an extended payload with the field names that the program registered. */
static void print_extended(const struct event_printer *p, const struct event_row *row, uint64_t id)
{
	struct nvtx_payload_ref ref = {.process = row->process->id,
		.payload = id,
		.domain = (uint32_t)row_value(row, "domain"),
		.counter = row_value(row, "counter"),
		.flex_offset = row_value(row, "flex_offset")};
	if (row->event->number == KIND_NVTX_SAMPLE)
		ref.use = NVTX_USE_SAMPLE;
	else if (row->event->number == KIND_NVTX_SAMPLE_BATCH)
		ref.use = NVTX_USE_SAMPLE_BATCH;
	else if (row_value(row, "is_batch"))
		ref.use = NVTX_USE_EVENT_BATCH;
	nvtx_payload_print(p->out, p->payloads, &ref);
}

/* Print a payload by its type, which is the previous column. */
static void print_payload(
	const struct event_printer *p, const struct event_row *row, uint32_t column)
{
	FILE *out = p->out;
	uint64_t bits = (uint64_t)row->values[column];
	uint32_t half = (uint32_t)bits;
	double real;
	float real_half;
	memcpy(&real, &bits, sizeof(real));
	memcpy(&real_half, &half, sizeof(real_half));
	switch (row->values[column - 1]) {
	case PAYLOAD_NONE:
		fputs("null", out);
		break;
	case PAYLOAD_EXTENDED:
		print_extended(p, row, bits);
		break;
	case PAYLOAD_INT64:
		print_i64(out, (int64_t)bits);
		break;
	case PAYLOAD_DOUBLE:
		print_real(out, real, 17);
		break;
	case PAYLOAD_UINT32:
		print_u64(out, half);
		break;
	case PAYLOAD_INT32:
		print_i64(out, (int32_t)half);
		break;
	case PAYLOAD_FLOAT:
		print_real(out, (double)real_half, 9);
		break;
	default:
		print_u64(out, bits);
	}
}

static void print_arguments(
	const struct event_printer *p, const struct event_row *row, uint32_t column, bool is_json)
{
	arguments_print(p->out,
		string_table_get(&p->contents->strings, (uint32_t)row->values[column]),
		&row->values[column], is_json);
}

/* Return true for a column that is printed with another one. */
static bool is_printed_elsewhere(const struct schema_field *field)
{
	return field->kind == FIELD_KIND_WORD_COUNT || field->kind == FIELD_KIND_WORD;
}

static bool is_left_out(const struct schema_field *field, int64_t value)
{
	bool may = field->kind == FIELD_KIND_ERRNO || field->kind == FIELD_KIND_FLAGS ||
		field->kind == FIELD_KIND_CALLCHAIN || field->kind == FIELD_KIND_METHOD ||
		field->kind == FIELD_KIND_PAYLOAD_TYPE || field->kind == FIELD_KIND_PROTOTYPE ||
		field->kind == FIELD_KIND_CODE || !strcmp(field->column, "library_api") ||
		!strcmp(field->column, "holder_tid") || !strcmp(field->column, "category") ||
		!strcmp(field->column, "color") || !strcmp(field->column, "priority");
	return may && !value;
}

/* Return the time as printed: on the session clock, or relative to the start of the session. An
 * unknown time stays 0. */
static int64_t printed_value(
	const struct event_printer *p, const struct schema_field *field, int64_t value)
{
	if (field->kind == FIELD_KIND_TIME || (value && schema_is_moment(field)))
		return (int64_t)((uint64_t)value - p->origin_ns);
	return value;
}

#define DESCRIPTOR_NONE UINT64_C(0xffffffffffff) /* -1 in the 48 bits of OSRT_CALL.object */

/* Print the object of a call: descriptors and processes in decimal. The function is looked up only
 * for numbers that cannot be addresses. */
static void print_object(
	const struct event_printer *p, const struct event_row *row, uint64_t object)
{
	bool is_small = object <= UINT32_MAX || object == DESCRIPTOR_NONE;
	const uint32_t name = (uint32_t)row->values[schema_column(row->event, FIELD_KIND_FUNCTION)];
	if (is_small && osrt_object_is_number(string_table_get(&p->contents->strings, name).text))
		print_i64(p->out, object == DESCRIPTOR_NONE ? -1 : (int64_t)object);
	else
		print_hex(p->out, object);
}

/* Print the number of bytes that are not text; the bytes themselves are in the JSON form. */
static void print_size(const struct event_printer *p, uint32_t string)
{
	fprintf(p->out, "[%u bytes]",
		(unsigned)string_table_get(&p->contents->strings, string).bytes);
}

/* Print a context switch in words instead of the numbers of its columns. */
static void print_switch(FILE *out, const struct event_row *row)
{
	const uint64_t how = row_value(row, "how");
	const char *left = row_value(row, "state") == SWITCH_STATE_ENDED ? "ended"
		: how & SWITCH_PREEMPTED                                 ? "was preempted"
									 : "waits";
	fprintf(out, " cpu=%" PRIu64 " thread=\"%s%s\"", row_value(row, "cpu"),
		row_value(row, "is_in") ? "runs" : left, how & SWITCH_ASSUMED ? " (assumed)" : "");
}

void event_print_text(const struct event_printer *p, const struct event_row *row)
{
	FILE *out = p->out;
	print_i64(out, (int64_t)((uint64_t)row->values[0] - p->origin_ns));
	putc_unlocked(' ', out);
	print_u64(out, row->process->facts->pid);
	putc_unlocked('/', out);
	print_u64(out, row->tid);
	putc_unlocked(' ', out);
	fputs_unlocked(row->event->name, out);
	const bool is_switch = row->event->number == KIND_SCHED_SWITCH;
	if (is_switch)
		print_switch(out, row);
	for (uint32_t i = 1; i < row->event->field_count && !is_switch; i++) {
		const struct schema_field *field = &row->event->fields[i];
		if (is_left_out(field, row->values[i]) || event_row_lacks(row, i) ||
			is_printed_elsewhere(field) ||
			(field->kind == FIELD_KIND_PAYLOAD && !row->values[i - 1]))
			continue;
		putc_unlocked(' ', out);
		fputs_unlocked(field->column, out);
		putc_unlocked('=', out);
		if (field->kind == FIELD_KIND_BYTES)
			print_size(p, (uint32_t)row->values[i]);
		else if (field->kind == FIELD_KIND_CALLCHAIN)
			chain_print_text(out, p->symbols, row->process,
				&(struct printed_chain){(uint32_t)row->values[i],
					is_interrupted(row), row_end_ns(row)});
		else if (field->kind == FIELD_KIND_CODE)
			code_print(out, p->symbols, row->process, (uint64_t)row->values[i],
				row_end_ns(row));
		else if (field->kind == FIELD_KIND_PAYLOAD)
			print_payload(p, row, i);
		else if (field->kind == FIELD_KIND_PROTOTYPE)
			print_arguments(p, row, i, false);
		else if (row->event->number == KIND_OSRT_CALL &&
			field->number == FIELD_OSRT_CALL_OBJECT)
			print_object(p, row, (uint64_t)row->values[i]);
		else
			print_value_text(
				out, p->contents, field, printed_value(p, field, row->values[i]));
	}
	putc_unlocked('\n', out);
}

static void print_value_json(
	FILE *out, const struct contents *c, const struct schema_field *field, int64_t value)
{
	struct string_ref text;
	if (field->kind == FIELD_KIND_FUNCTION) {
		text = string_table_get(&c->strings, (uint32_t)value);
		print_json(out, text.text, text.bytes);
	} else if (field->kind == FIELD_KIND_HEX) {
		putc_unlocked('"', out);
		print_hex(out, (uint64_t)value);
		putc_unlocked('"', out);
	} else if (field->kind == FIELD_KIND_FLAGS) {
		putc_unlocked('[', out);
		print_flags_quoted(out, (uint64_t)value);
		putc_unlocked(']', out);
	} else if (field->kind == FIELD_KIND_ERRNO) {
		print_i64(out, value);
	} else {
		print_value_text(out, c, field, value);
	}
}

/* Print a payload with its id, which identifies its bytes in other rows, and with the index of the
 * event in it. */
static void print_json_payload(
	const struct event_printer *p, const struct event_row *row, uint32_t column)
{
	uint64_t payload, index;
	print_payload(p, row, column);
	if (row->values[column - 1] != PAYLOAD_EXTENDED)
		return;
	bool is_of_batch = nvtx_event_in_batch((uint64_t)row->values[column], &payload, &index);
	fprintf(p->out, ",\"payload_id\":%llu", (unsigned long long)payload);
	if (is_of_batch)
		fprintf(p->out, ",\"event_index\":%llu", (unsigned long long)index);
}

void event_print_json(const struct event_printer *p, const struct event_row *row)
{
	FILE *out = p->out;
	fputs_unlocked("{\"kind\":\"", out);
	fputs_unlocked(row->event->name, out);
	fputs_unlocked("\",\"process\":", out);
	print_u64(out, row->process->id);
	fputs_unlocked(",\"pid\":", out);
	print_u64(out, row->process->facts->pid);
	fputs_unlocked(",\"tid\":", out);
	print_u64(out, row->tid);
	for (uint32_t i = 0; i < row->event->field_count; i++) {
		const struct schema_field *field = &row->event->fields[i];
		int64_t value = printed_value(p, field, row->values[i]);
		if (is_printed_elsewhere(field) ||
			(event_row_lacks(row, i) && !is_left_out(field, value) &&
				field->kind != FIELD_KIND_PAYLOAD))
			continue;
		fputs_unlocked(",\"", out);
		fputs_unlocked(field->column, out);
		fputs_unlocked("\":", out);
		if (field->kind == FIELD_KIND_CALLCHAIN)
			chain_print_json(out, p->symbols, row->process,
				&(struct printed_chain){
					(uint32_t)value, is_interrupted(row), row_end_ns(row)});
		else if (field->kind == FIELD_KIND_CODE)
			code_print(out, p->symbols, row->process, (uint64_t)value, row_end_ns(row));
		else if (field->kind == FIELD_KIND_PAYLOAD)
			print_json_payload(p, row, i);
		else if (field->kind == FIELD_KIND_PROTOTYPE)
			print_arguments(p, row, i, true);
		else
			print_value_json(out, p->contents, field, value);
	}
	fputs_unlocked("}\n", out);
}

void event_print_output(
	const struct event_printer *p, const struct event_row *row, const char *streams)
{
	const bool is_error = row_value(row, "stream") == 2;
	if (row->event->number != KIND_STREAM_WRITE || row_value(row, "redirected") ||
		!strcmp(streams, is_error ? "stdout" : "stderr"))
		return;
	struct string_ref text =
		string_table_get(&p->contents->strings, (uint32_t)row_value(row, "text"));
	fwrite(text.text, 1, text.bytes, p->out);
}
