/* SPDX-License-Identifier: Apache-2.0 */
/* log_lines.c - events from lines of a program's output that a regular expression finds. */
#include "reader/report/log_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/print.h"

#define OPTION "log_events="

static const char *pattern_in(const Libtrace__Session *session)
{
	for (size_t i = 0; session && i < session->n_options; i++)
		if (!strncmp(session->options[i], OPTION, sizeof(OPTION) - 1) &&
			session->options[i][sizeof(OPTION) - 1])
			return session->options[i] + sizeof(OPTION) - 1;
	return NULL;
}

const char *log_pattern(const struct contents *c, uint32_t number)
{
	return pattern_in(
		number && number <= c->merged_count ? c->merged[number - 1]->session : c->session);
}

void log_search_begin(struct log_search *s, const char *pattern)
{
	const char *cause;
	s->regex = regex_compile(pattern, &cause);
}

void log_search_end(struct log_search *s)
{
	regex_free(s->regex);
	s->regex = NULL;
}

/* ---- fields ---- */

static const char *digits_skip(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

/* Return true if a text is a number as JSON has them. */
static bool is_number(const char *at, const char *end)
{
	at += at < end && *at == '-';
	const char *digits = at;
	at = digits_skip(at, end);
	if (at == digits || (*digits == '0' && at > digits + 1) || end - digits > 40)
		return false;
	if (at < end && *at == '.') {
		digits = at + 1;
		at = digits_skip(digits, end);
		if (at == digits)
			return false;
	}
	if (at < end && (*at | 32) == 'e') {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		digits = at;
		at = digits_skip(digits, end);
		if (at == digits)
			return false;
	}
	return at == end;
}

/* Return true if an earlier group of the same name has a part in the match. */
static bool has_earlier(const struct regex *r, const struct regex_match *m, uint32_t group)
{
	uint32_t bytes, other_bytes;
	const char *name = regex_group_name(r, group, &bytes);
	for (uint32_t i = 0; i < group; i++) {
		const char *other = regex_group_name(r, i, &other_bytes);
		if (m->groups[i].begin <= m->groups[i].end && bytes == other_bytes &&
			!memcmp(name, other, bytes))
			return true;
	}
	return false;
}

/* Print the groups as a JSON object. */
static void fields_print(
	FILE *out, const struct regex *r, const struct regex_match *m, const char *text)
{
	uint32_t bytes, count = 0;
	fputc('{', out);
	for (uint32_t i = 0; i < regex_group_count(r); i++) {
		const struct regex_group g = m->groups[i];
		if (g.begin > g.end || has_earlier(r, m, i))
			continue;
		const char *name = regex_group_name(r, i, &bytes);
		if (count++)
			fputc(',', out);
		print_json(out, name, bytes);
		fputc(':', out);
		if (is_number(text + g.begin, text + g.end))
			fwrite(text + g.begin, 1, g.end - g.begin, out);
		else
			print_json(out, text + g.begin, g.end - g.begin);
	}
	fputc('}', out);
}

static void event_pass(struct log_search *s, const struct regex_match *m, const char *text)
{
	char *fields = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&fields, &bytes);
	if (!out)
		return;
	fields_print(out, s->regex, m, text);
	if (!fclose(out))
		s->found(s->user,
			&(struct log_event){m->label ? m->label : "log",
				m->label ? m->label_bytes : 3, fields, bytes});
	free(fields);
}

/* ---- lines ---- */

/* Look at the line, and begin the next one. */
static void line_end(struct log_search *s, struct log_stream *stream)
{
	struct regex_match m;
	size_t bytes = stream->bytes;
	if (bytes && stream->line[bytes - 1] == '\r')
		bytes--;
	if (s->regex && !stream->is_incomplete && bytes &&
		regex_search(s->regex, stream->line, bytes, &m))
		event_pass(s, &m, stream->line);
	stream->bytes = 0;
	stream->is_incomplete = false;
}

void log_write(struct log_search *s, struct log_stream *stream, uint64_t position, uint64_t size,
	const char *text, size_t bytes)
{
	if (position != stream->position) {
		stream->bytes = 0;
		stream->is_incomplete = true;
	}
	stream->is_begun = true;
	stream->position = position + size;
	for (size_t i = 0; text && i < bytes; i++)
		if (text[i] == '\n')
			line_end(s, stream);
		else if (stream->bytes < sizeof(stream->line))
			stream->line[stream->bytes++] = text[i];
}

void log_stream_end(struct log_search *s, struct log_stream *stream)
{
	line_end(s, stream);
	stream->is_begun = false;
	stream->position = 0;
}
