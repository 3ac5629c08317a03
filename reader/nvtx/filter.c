/* SPDX-License-Identifier: Apache-2.0 */
/* filter.c - parser and evaluator of NVTX filters in the language of ncu. */
#include "reader/nvtx/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_PREFIX "regex:"

void nvtx_filter_init(struct nvtx_filter *f)
{
	*f = (struct nvtx_filter){0};
}

static void pattern_release(struct nvtx_pattern *p)
{
	if (p->is_regex)
		regfree(&p->regex);
	free(p->text);
	*p = (struct nvtx_pattern){0};
}

void nvtx_filter_release(struct nvtx_filter *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		pattern_release(&f->expressions[i].domain);
	for (uint32_t i = 0; i < f->name_count; i++)
		pattern_release(&f->names[i]);
	nvtx_filter_init(f);
}

/* ---- parsing ---- */

struct parser {
	struct nvtx_filter *filter;
	struct nvtx_expression *expression;
	char *text;     /* copy of the whole expression */
	size_t removed; /* offset of a character that was removed from it; SIZE_MAX = none */
	bool is_regex;
	size_t at; /* offset of the error */
	const char *why;
};

static int fail(struct parser *p, const char *at, const char *why)
{
	p->at = (size_t)(at - p->text);
	p->at += p->at >= p->removed;
	p->why = why;
	return -EINVAL;
}

/* Return the first of `characters` in [at, end) that is not escaped by a backslash, or `end`. */
static const char *find(const char *at, const char *end, const char *characters)
{
	for (; at < end; at++) {
		if (*at == '\\' && at + 1 < end)
			at++;
		else if (strchr(characters, *at))
			return at;
	}
	return end;
}

/* Copy a text without the backslashes that escape characters of the filter language. Backslashes of
 * a regular expression are kept. */
static char *unescape(const struct parser *p, const char *at, const char *end)
{
	char *copy = malloc((size_t)(end - at) + 1), *to = copy;
	for (; copy && at < end; at++) {
		if (*at == '\\' && at + 1 < end && (!p->is_regex || strchr("@,/", at[1])))
			at++;
		else if (*at == '\\' && at + 1 < end)
			*to++ = *at++;
		*to++ = *at;
	}
	if (copy)
		*to = 0;
	return copy;
}

static int pattern_parse(
	struct parser *p, const char *at, const char *end, struct nvtx_pattern *ret_pattern)
{
	*ret_pattern = (struct nvtx_pattern){.text = unescape(p, at, end)};
	if (!ret_pattern->text)
		return -ENOMEM;
	int error = p->is_regex
		? regcomp(&ret_pattern->regex, ret_pattern->text, REG_EXTENDED | REG_NOSUB)
		: 0;
	ret_pattern->is_regex = p->is_regex && !error;
	if (!error)
		return 0;
	pattern_release(ret_pattern);
	return error == REG_ESPACE ? -ENOMEM : fail(p, at, "invalid regular expression");
}

static int element_parse(struct parser *p, const char *at, const char *end)
{
	struct nvtx_expression *e = p->expression;
	struct nvtx_filter *f = p->filter;
	if (at == end)
		return fail(p, at, "the name of a range is missing");
	if (e->count == NVTX_FILTER_ELEMENTS || f->name_count == NVTX_FILTER_NAMES)
		return fail(p, at, "too many names");
	e->elements[e->count].kind = ELEMENT_NAME;
	if (e->is_push_pop && end == at + 1 && (*at == '*' || *at == '+')) {
		e->elements[e->count++].kind = *at == '*' ? ELEMENT_MANY : ELEMENT_ONE;
		return 0;
	}
	const char *stray = p->is_regex ? end : find(at, end, "[]*+");
	if (stray < end)
		return fail(p, stray, "write this character with a backslash in a name");
	int error = pattern_parse(p, at, end, &f->names[f->name_count]);
	if (!error)
		e->elements[e->count++].name = (uint8_t)f->name_count++;
	return error;
}

/* Parse the brackets at the ends of an expression as anchors, unless a '/' marks them as part of a
 * regular expression; then remove the '/'. */
static void anchors_parse(struct parser *p, char **at, char **end)
{
	struct nvtx_expression *e = p->expression;
	if (p->is_regex && (*at)[0] == '/' && (*at)[1] == '[') {
		p->removed = (size_t)(*at - p->text);
		memmove(*at, *at + 1, (size_t)(*end - *at));
		--*end;
	} else if (**at == '[') {
		e->at_bottom = true;
		++*at;
	}
	bool escaped = *end - *at >= 2 && (*end)[-2] == '\\';
	if (p->is_regex && *end - *at >= 2 && !strcmp(*end - 2, "/]")) {
		strcpy(*end - 2, "]");
		--*end;
	} else if (*end > *at && (*end)[-1] == ']' && !escaped) {
		e->at_top = true;
		--*end;
	}
}

static int ranges_parse(struct parser *p, char *at, char *end)
{
	struct nvtx_expression *e = p->expression;
	anchors_parse(p, &at, &end);
	e->is_push_pop = e->at_bottom || e->at_top || find(at, end, "/") < end;
	const char *other = find(at, end, ",");
	if (e->is_push_pop && other < end)
		return fail(p, other,
			"',' separates start/end ranges, which take no '/' and no '[ ]' at the "
			"ends");
	for (const char *begin = at;;) {
		const char *next = find(begin, end, e->is_push_pop ? "/" : ",");
		int error = element_parse(p, begin, next);
		if (error || next == end)
			return error;
		begin = next + 1;
		if (begin == end && e->is_push_pop)
			return 0; /* a trailing slash, as in "A/" */
	}
}

static int expression_parse(struct parser *p)
{
	char *at = p->text, *end = at + strlen(at);
	p->is_regex = !strncmp(at, REGEX_PREFIX, strlen(REGEX_PREFIX));
	if (p->is_regex)
		at += strlen(REGEX_PREFIX);
	const char *domain_end = find(at, end, "@");
	struct nvtx_pattern *domain = &p->expression->domain;
	if (domain_end == end) {
		domain->text = strdup("");
		return domain->text ? ranges_parse(p, at, end) : -ENOMEM;
	}
	if (domain_end == at)
		return fail(p, at, "the name of the domain is missing before '@'");
	const char *second = find(domain_end + 1, end, "@");
	if (second < end)
		return fail(
			p, second, "an expression has one domain; write '@' in a name as '\\@'");
	int error = pattern_parse(p, at, domain_end, domain);
	return error ? error : ranges_parse(p, at + (domain_end + 1 - at), end);
}

int nvtx_filter_add(struct nvtx_filter *f, const char *text, bool excludes, size_t *ret_at,
	const char **ret_why)
{
	uint32_t names = f->name_count;
	*ret_at = 0;
	*ret_why = "too many expressions";
	if (f->count == NVTX_FILTER_EXPRESSIONS)
		return -EINVAL;
	struct nvtx_expression *e = &f->expressions[f->count];
	struct parser p = {.filter = f, .expression = e, .text = strdup(text), .removed = SIZE_MAX};
	*e = (struct nvtx_expression){.excludes = excludes};
	int error = p.text ? expression_parse(&p) : -ENOMEM;
	free(p.text);
	if (error) {
		pattern_release(&e->domain);
		while (f->name_count > names)
			pattern_release(&f->names[--f->name_count]);
		*ret_at = p.at;
		*ret_why = p.why;
		return error;
	}
	*(excludes ? &f->excludes : &f->includes) |= 1u << f->count++;
	return 0;
}

/* ---- matching ---- */

static bool pattern_matches(const struct nvtx_pattern *p, const char *text)
{
	return p->is_regex ? !regexec(&p->regex, text, 0, NULL, 0) : !strcmp(p->text, text);
}

uint32_t nvtx_filter_domains(const struct nvtx_filter *f, const char *text)
{
	uint32_t domains = 0;
	for (uint32_t i = 0; i < f->count; i++)
		domains |= (uint32_t)pattern_matches(&f->expressions[i].domain, text) << i;
	return domains;
}

uint64_t nvtx_filter_names(const struct nvtx_filter *f, const char *text)
{
	uint64_t names = 0;
	for (uint32_t i = 0; *text && i < f->name_count; i++)
		names |= (uint64_t)pattern_matches(&f->names[i], text) << i;
	return names;
}

/* Add the states that are reached without a range, because '*' also matches zero ranges. */
static uint64_t closed(const struct nvtx_expression *e, uint64_t states)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (states >> i & 1 && e->elements[i].kind == ELEMENT_MANY)
			states |= UINT64_C(2) << i;
	return states;
}

static uint64_t states_behind(const struct nvtx_expression *e, uint64_t states, uint64_t names)
{
	uint64_t next = 0;
	for (uint32_t i = 0; i < e->count; i++) {
		if (!(states >> i & 1))
			continue;
		if (e->elements[i].kind == ELEMENT_MANY)
			next |= UINT64_C(1) << i;
		else if (e->elements[i].kind == ELEMENT_ONE || names >> e->elements[i].name & 1)
			next |= UINT64_C(2) << i;
	}
	return closed(e, next);
}

void nvtx_stack_push(const struct nvtx_filter *f, const struct nvtx_stack *below, uint32_t domains,
	uint64_t names, struct nvtx_stack *ret_stack)
{
	struct nvtx_stack top = {.holds = 0};
	for (uint32_t i = 0; i < f->count; i++) {
		const struct nvtx_expression *e = &f->expressions[i];
		if (!e->is_push_pop || !(domains >> i & 1))
			continue;
		uint64_t states = below ? below->states[i] : 0;
		if (!e->at_bottom || !below)
			states |= 1;
		top.states[i] = states_behind(e, closed(e, states), names);
		bool holds = top.states[i] >> e->count & 1;
		if (!e->at_top && below && below->holds >> i & 1)
			holds = true;
		top.holds |= (uint32_t)holds << i;
	}
	*ret_stack = top;
}

bool nvtx_filter_all_open(const struct nvtx_expression *e, uint64_t names)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (!(names >> e->elements[i].name & 1))
			return false;
	return !e->is_push_pop;
}

bool nvtx_filter_passes(const struct nvtx_filter *f, uint32_t holds)
{
	return (!f->includes || holds & f->includes) && !(holds & f->excludes);
}
