/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression.h - expression of a derived metric: parsed once, computed for each result.
 *
 *   a + b   a - b   a * b   a / b   (a)   f(a)   metric names   constants
 *
 * f: revise_min, revise_max, revise_avg, revise_sum, simplify (Nsight Compute Customization Guide
 * 2.5.3), nan_as_zero (section files of 2025). * and / bind tighter than + and -; all are
 * left-associative. Constants have type uint64 or, with a decimal point or an exponent, double. The
 * text may be hostile; an expression has at most EXPRESSION_STEPS_MAX steps. One thread; allocates.
 */
#ifndef READER_NCU_EXPRESSION_H
#define READER_NCU_EXPRESSION_H

#include "reader/ncu/quantity.h"
#include "reader/ncu/results.h"

#define EXPRESSION_STEPS_MAX 512u /* numbers, names, operators and functions */
#define EXPRESSION_DEPTH_MAX 64u  /* nested parentheses */

enum expression_kind { STEP_CONSTANT, STEP_METRIC, STEP_OPERATOR, STEP_FUNCTION };

/* One operation on a stack of quantities. */
struct expression_step {
	enum expression_kind kind;
	struct number constant;
	char *metric;
	char operation;
	unsigned function; /* index of the function */
};

struct expression {
	struct expression_step *steps; /* postfix: operands before their operator */
	size_t count;
};

struct expression_problem {
	size_t column; /* counted in bytes, from 1 */
	char text[128];
};

/* Parse an expression. Returns 0; -EINVAL with the problem; -ENOMEM. The caller releases `e` in any
 * case. */
int expression_parse(
	struct expression *e, const char *text, struct expression_problem *ret_problem);
/* Free the expression. */
void expression_release(struct expression *e);

/* Compute the expression from the metrics of a result. Returns 0, and the caller releases the
 * quantity; -ENOENT or -EINVAL with the metric that the result lacks or that is a text; -ENOMEM. */
int expression_compute(const struct expression *e, const struct ncu_results *results,
	const Ncu__ProfileResult *r, struct quantity *ret_quantity, const char **ret_metric);

#endif
