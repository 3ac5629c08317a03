/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - parser and evaluator of the expression of a derived metric. */
#define _GNU_SOURCE
#include "reader/ncu/expression.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/metrics.h"

static const char *const functions[] = {
	"revise_min", "revise_max", "revise_avg", "revise_sum", "simplify", "nan_as_zero"};
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))
#define FUNCTION_SIMPLIFY 4u /* lower numbers are enum quantity_revision */

/* ---- parsing ---- */

struct parsing {
	struct expression *expression;
	const char *text, *at;
	struct expression_problem *problem;
	unsigned depth;
	int error; /* the first error; parsing stops there */
};

static void parse_sum(struct parsing *p);

__attribute__((format(printf, 2, 3))) static void fail(struct parsing *p, const char *format, ...)
{
	va_list list;
	if (p->error)
		return;
	p->error = -EINVAL;
	p->problem->column = (size_t)(p->at - p->text) + 1;
	va_start(list, format);
	vsnprintf(p->problem->text, sizeof(p->problem->text), format, list);
	va_end(list);
}

static void fail_expected(struct parsing *p, const char *what)
{
	if (*p->at)
		fail(p, "expected %s, not %.40s", what, p->at);
	else
		fail(p, "expected %s before the end of the expression", what);
}

/* Check for an ASCII digit, whatever the locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char next(struct parsing *p)
{
	while (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r'))
		p->at++;
	return *p->at;
}

/* Append a step. If its metric could not be copied, `error` is set. */
static void step_add(struct parsing *p, struct expression_step step)
{
	struct expression *e = p->expression;
	if (e->count == EXPRESSION_STEPS_MAX)
		fail(p, "more than %u names, numbers and operators", EXPRESSION_STEPS_MAX);
	void *all = p->error ? NULL : reallocarray(e->steps, e->count + 1, sizeof(*e->steps));
	if (!all) {
		p->error = p->error ? p->error : -ENOMEM;
		free(step.metric);
		return;
	}
	e->steps = all;
	e->steps[e->count++] = step;
}

static void parse_number(struct parsing *p)
{
	struct expression_step step = {.kind = STEP_CONSTANT, .constant = {.kind = NUMBER_UINT64}};
	char *end;
	const char *at = p->at;
	errno = 0;
	while (is_digit(*at))
		at++;
	if (*at == '.' ||
		((*at | 32) == 'e' && (is_digit(at[1]) || at[1] == '-' || at[1] == '+'))) {
		step.constant.kind = NUMBER_DOUBLE;
		step.constant.real = strtod(p->at, &end);
	} else {
		step.constant.whole = strtoull(p->at, &end, 10);
		if (errno)
			fail(p, "number exceeds 64 bits");
	}
	if (!p->error && (begins_name(*end) || *end == '.' || is_digit(*end)))
		fail(p, "not a number: %.40s", p->at);
	p->at = end;
	step_add(p, step);
}

static unsigned function_named(const char *name, size_t bytes)
{
	unsigned i = 0;
	while (i < FUNCTIONS &&
		(strlen(functions[i]) != bytes || memcmp(functions[i], name, bytes) != 0))
		i++;
	return i;
}

/* Parse "( sum )". */
static void parse_parentheses(struct parsing *p)
{
	if (p->depth == EXPRESSION_DEPTH_MAX) {
		fail(p, "more than %u nested parentheses", EXPRESSION_DEPTH_MAX);
		return;
	}
	p->depth++;
	p->at++;
	parse_sum(p);
	p->depth--;
	if (!p->error && next(p) != ')')
		fail_expected(p, "an operator or )");
	p->at += !p->error;
}

/* Parse a metric, or a function with its argument. Names may contain points and colons. */
static void parse_name(struct parsing *p)
{
	const char *name = p->at;
	struct expression_step step = {.kind = STEP_METRIC};
	while (begins_name(*p->at) || is_digit(*p->at) || *p->at == '.' || *p->at == ':')
		p->at++;
	const size_t bytes = (size_t)(p->at - name);
	if (next(p) != '(') {
		step.metric = strndup(name, bytes);
		if (!step.metric)
			p->error = -ENOMEM;
		step_add(p, step);
		return;
	}
	step.kind = STEP_FUNCTION;
	step.function = function_named(name, bytes);
	if (step.function == FUNCTIONS) {
		p->at = name;
		fail(p, "unknown function %.*s", bytes < 40 ? (int)bytes : 40, name);
		return;
	}
	parse_parentheses(p);
	step_add(p, step);
}

static void parse_factor(struct parsing *p)
{
	const char c = next(p);
	if (c == '(')
		parse_parentheses(p);
	else if (is_digit(c) || (c == '.' && is_digit(p->at[1])))
		parse_number(p);
	else if (begins_name(c))
		parse_name(p);
	else
		fail_expected(p, "a metric, a number or (");
}

/* Parse operands separated by `operations` of one precedence, from left to right. */
static void parse_chain(
	struct parsing *p, const char *operations, void (*operand)(struct parsing *p))
{
	operand(p);
	while (!p->error && next(p) && strchr(operations, *p->at)) {
		struct expression_step step = {.kind = STEP_OPERATOR, .operation = *p->at++};
		operand(p);
		step_add(p, step);
	}
}

static void parse_product(struct parsing *p)
{
	parse_chain(p, "*/", parse_factor);
}

static void parse_sum(struct parsing *p)
{
	parse_chain(p, "+-", parse_product);
}

int expression_parse(struct expression *e, const char *text, struct expression_problem *problem)
{
	struct parsing p = {e, text, text, problem, 0, 0};
	*e = (struct expression){0};
	parse_sum(&p);
	if (!p.error && next(&p))
		fail_expected(&p, "an operator");
	return p.error;
}

void expression_release(struct expression *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->steps[i].metric);
	free(e->steps);
	*e = (struct expression){0};
}

/* ---- computing ---- */

static void call(struct quantity *q, unsigned function)
{
	if (function < FUNCTION_SIMPLIFY)
		quantity_revise(q, (enum quantity_revision)function);
	else if (function == FUNCTION_SIMPLIFY)
		quantity_simplify(q);
	else
		quantity_nan_as_zero(q);
}

/* Execute a step on the stack of *depth quantities. The parser ensures that its operands are
 * there. */
static int step_take(const struct expression_step *step, const struct ncu_results *n,
	const Ncu__ProfileResult *r, struct quantity *stack, size_t *depth)
{
	if (step->kind == STEP_CONSTANT) {
		stack[(*depth)++] = quantity_of_number(step->constant);
	} else if (step->kind == STEP_METRIC) {
		const Ncu__ProfileMetricResult *m = ncu_metric_find(n, r, step->metric);
		int error = m ? quantity_of_metric(m, &stack[*depth]) : -ENOENT;
		if (error)
			return error;
		++*depth;
	} else if (step->kind == STEP_OPERATOR) {
		--*depth;
		return quantity_combine(&stack[*depth - 1], step->operation, &stack[*depth]);
	} else {
		call(&stack[*depth - 1], step->function);
	}
	return 0;
}

int expression_compute(const struct expression *e, const struct ncu_results *n,
	const Ncu__ProfileResult *r, struct quantity *ret_quantity, const char **ret_metric)
{
	struct quantity *stack = calloc(e->count + 1, sizeof(*stack));
	size_t depth = 0;
	int error = stack ? 0 : -ENOMEM;
	*ret_metric = NULL;
	for (size_t i = 0; !error && i < e->count; i++) {
		error = step_take(&e->steps[i], n, r, stack, &depth);
		*ret_metric = e->steps[i].metric;
	}
	if (!error)
		*ret_quantity = stack[--depth];
	while (depth)
		quantity_release(&stack[--depth]);
	free(stack);
	return error;
}
