/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_expression.c - tests of derived metrics: each rule of the Nsight Compute
 * Customization Guide, section 2.5, and the errors of expressions with their positions.
 */
#include <inttypes.h>

#include "ncu_text.h"
#include "reader/ncu/expression.h"
#include "tap.h"

/* Metrics by number: names[i] is the name of NameId i. */
static const char *const names[] = {
	"u", "v", "d", "f", "w", "x", "y", "z", "n", "text", "k.sum:a", "only", "none", "s", "t"};
static const char result_text[] =
	"MetricResults { NameId: 0 MetricValue { Uint64Value: 7 } }"          /* u */
	"MetricResults { NameId: 1 MetricValue { Uint64Value: 2 } }"          /* v */
	"MetricResults { NameId: 2 MetricValue { DoubleValue: 0.5 } }"        /* d */
	"MetricResults { NameId: 3 MetricValue { FloatValue: 0.1 } }"         /* f */
	"MetricResults { NameId: 4 MetricValue { Uint32Value: 4294967295 } }" /* w */
	/* x: 1 -> 10, 2 -> 20, 3 -> 30, aggregate 99 */
	"MetricResults { NameId: 5 MetricValue { Uint64Value: 99 }"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { Uint64Value: 10 } }"
	" MetricValueList { CorrelationId { Uint64Value: 2 } ElementValue { Uint64Value: 20 } }"
	" MetricValueList { CorrelationId { Uint64Value: 3 } ElementValue { Uint64Value: 30 } } }"
	/* y: 3 -> 3, 4 -> 4, 2 -> 50 */
	"MetricResults { NameId: 6 MetricValue { Uint64Value: 57 }"
	" MetricValueList { CorrelationId { Uint64Value: 3 } ElementValue { Uint64Value: 3 } }"
	" MetricValueList { CorrelationId { Uint64Value: 4 } ElementValue { Uint64Value: 4 } }"
	" MetricValueList { CorrelationId { Uint64Value: 2 } ElementValue { Uint64Value: 50 } } }"
	/* z: 2 -> 0.5, doubles */
	"MetricResults { NameId: 7 MetricValue { DoubleValue: 0.5 }"
	" MetricValueList { CorrelationId { Uint64Value: 2 } ElementValue { DoubleValue: 0.5 } } }"
	/* n: 1 -> nan, 2 -> 4 */
	"MetricResults { NameId: 8 MetricValue { DoubleValue: nan }"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { DoubleValue: nan } }"
	" MetricValueList { CorrelationId { Uint64Value: 2 } ElementValue { DoubleValue: 4 } } }"
	"MetricResults { NameId: 9 MetricValue { StringValue: 'a' } }"
	"MetricResults { NameId: 10 MetricValue { Uint64Value: 3 } }"
	/* only: instances without an aggregate */
	"MetricResults { NameId: 11"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { Uint64Value: 5 } }"
	" MetricValueList { CorrelationId { Uint64Value: 9 } ElementValue { Uint64Value: 6 } } }"
	"MetricResults { NameId: 12 }"
	/* s, t: strings as keys */
	"MetricResults { NameId: 13 MetricValue { Uint64Value: 3 }"
	" MetricValueList { CorrelationId { StringValue: 'FADD' } ElementValue { Uint64Value: 1 } }"
	" MetricValueList { CorrelationId { StringValue: 'BRA' } ElementValue { Uint64Value: 2 } } "
	"}"
	"MetricResults { NameId: 14 MetricValue { Uint64Value: 10 }"
	" MetricValueList { CorrelationId { StringValue: 'BRA' } ElementValue { Uint64Value: 10 } "
	"} }";

static struct ncu_results results = {
	.names = (char **)names, .name_count = sizeof(names) / sizeof(*names)};

static void print_number(FILE *out, const struct number *n)
{
	static const char *const kinds[] = {"u32", "u64", "float", "double"};
	if (n->kind <= NUMBER_UINT64)
		fprintf(out, "%s %" PRIu64, kinds[n->kind], n->whole);
	else
		fprintf(out, "%s %.9g", kinds[n->kind], n->real);
}

/* "u64 30 {1: u64 10, BRA: u64 20}" */
static void print_quantity(FILE *out, const struct quantity *q)
{
	print_number(out, &q->aggregate);
	fputs(q->is_instanced ? " {" : "", out);
	for (size_t i = 0; i < q->count; i++) {
		const Ncu__ProfileMetricValue *id = q->instances[i].id;
		fputs(i ? ", " : "", out);
		if (id->string_value)
			fputs(id->string_value, out);
		else
			fprintf(out, "%" PRIu64, id->uint64_value);
		fputs(": ", out);
		print_number(out, &q->instances[i].value);
	}
	fputs(q->is_instanced ? "}" : "", out);
}

/* Print an expression as text. */
static void compute(const Ncu__ProfileResult *r, const char *text, char *ret_text, size_t bytes)
{
	struct expression e;
	struct expression_problem problem;
	struct quantity q;
	const char *metric;
	FILE *out = fmemopen(ret_text, bytes, "w");
	int error = expression_parse(&e, text, &problem);
	if (error) {
		fprintf(out, "%zu: %s", problem.column, problem.text);
	} else if ((error = expression_compute(&e, &results, r, &q, &metric)) != 0) {
		fprintf(out, "%s %s", metric, strerror(-error));
	} else {
		print_quantity(out, &q);
		quantity_release(&q);
	}
	expression_release(&e);
	fclose(out);
}

static const struct {
	const char *rule, *text, *wanted;
} rules[] = {
	/* constants, types */
	{"constants without a fraction are unsigned, 64 bits", "18446744073709551615",
		"u64 18446744073709551615"},
	{"constants with a fraction are doubles", "2.5", "double 2.5"},
	{"constants with an exponent are, too", "1e3", "double 1000"},
	{"a fraction may begin with the point", ".5", "double 0.5"},
	{"two of uint64 make uint64", "u + v", "u64 9"},
	{"uint64 and double make double", "u + d", "double 7.5"},
	{"double and uint64 make double", "d + u", "double 7.5"},
	{"float and uint64 make float", "f + v", "float 2.0999999"},
	{"float and double make double", "f * 1.0", "double 0.100000001"},
	{"uint32 and uint64 make uint64", "w + u", "u64 4294967302"},
	{"two of uint32 make uint32, as in C", "w + w", "u32 4294967294"},
	{"uint64 is as wide as in C", "18446744073709551615 + 1", "u64 0"},
	/* single with single */
	{"subtraction stays unsigned while it is not negative", "u - v", "u64 5"},
	{"unsigned subtraction below zero becomes a double", "v - u", "double -5"},
	{"also of uint32", "w - 4294967296", "double -1"},
	{"multiplication", "u * v", "u64 14"},
	{"whole numbers divide to whole ones", "u / v", "u64 3"},
	{"a double divides to a fraction", "u / 2.0", "double 3.5"},
	{"whole numbers by zero: the dividend", "u / (v - v)", "u64 7"},
	{"doubles by zero: infinite", "1.0 / 0", "double inf"},
	{"single and single are single", "u + v * d", "double 8"},
	/* instanced with single */
	{"a metric alone keeps its aggregate", "x", "u64 99 {1: u64 10, 2: u64 20, 3: u64 30}"},
	{"a constant is added to each instance, the aggregate is their sum", "x + 1",
		"u64 63 {1: u64 11, 2: u64 21, 3: u64 31}"},
	{"from the left, too", "1 + x", "u64 63 {1: u64 11, 2: u64 21, 3: u64 31}"},
	{"a constant is subtracted from each", "x - 5", "u64 45 {1: u64 5, 2: u64 15, 3: u64 25}"},
	{"each is subtracted from a constant", "100 - x",
		"u64 240 {1: u64 90, 2: u64 80, 3: u64 70}"},
	{"one instance below zero: all are doubles", "x - 15",
		"double 15 {1: double -5, 2: double 5, 3: double 15}"},
	{"each is multiplied", "x * d", "double 30 {1: double 5, 2: double 10, 3: double 15}"},
	{"each is divided", "x / 4", "u64 14 {1: u64 2, 2: u64 5, 3: u64 7}"},
	{"a constant is divided by each", "60 / x", "u64 11 {1: u64 6, 2: u64 3, 3: u64 2}"},
	{"single metrics are as constants", "u + x", "u64 81 {1: u64 17, 2: u64 27, 3: u64 37}"},
	/* instanced with instanced */
	{"addition is a union by correlation id", "x + y",
		"u64 117 {1: u64 10, 2: u64 70, 3: u64 33, 4: u64 4}"},
	{"subtraction, too; what only the right side has is copied", "x - y",
		"double 11 {1: double 10, 2: double -30, 3: double 27, 4: double 4}"},
	{"multiplication is an intersection", "x * y", "u64 1090 {2: u64 1000, 3: u64 90}"},
	{"division, too", "x / y", "u64 10 {2: u64 0, 3: u64 10}"},
	{"the wider type of both sides holds for all", "x + z",
		"double 60.5 {1: double 10, 2: double 20.5, 3: double 30}"},
	{"correlation ids may be texts", "s + t", "u64 13 {FADD: u64 1, BRA: u64 12}"},
	{"ids of different types are never the same", "s * x", "u64 0 {}"},
	{"instances without an aggregate", "only * 1", "u64 11 {1: u64 5, 9: u64 6}"},
	{"their aggregate is their sum", "simplify(only)", "u64 11"},
	/* functions */
	{"revise_min", "revise_min(x + 1.0)",
		"double 11 {1: double 11, 2: double 21, 3: double 31}"},
	{"revise_max", "revise_max(x + 1.0)",
		"double 31 {1: double 11, 2: double 21, 3: double 31}"},
	{"revise_avg", "revise_avg(x + 1.0)",
		"double 21 {1: double 11, 2: double 21, 3: double 31}"},
	{"revise_avg of whole numbers is a double", "revise_avg(x / 3)",
		"double 6.33333333 {1: u64 3, 2: u64 6, 3: u64 10}"},
	{"revise_sum", "revise_sum(revise_min(x))", "u64 60 {1: u64 10, 2: u64 20, 3: u64 30}"},
	{"revise of a single value changes nothing", "revise_max(u)", "u64 7"},
	{"simplify leaves the aggregate alone", "simplify(x)", "u64 99"},
	{"what was simplified is a single value", "y + simplify(revise_max(x))",
		"u64 147 {3: u64 33, 4: u64 34, 2: u64 80}"},
	{"the next operation revises by the sum again", "revise_max(x) * 1",
		"u64 60 {1: u64 10, 2: u64 20, 3: u64 30}"},
	{"nan_as_zero", "nan_as_zero(n)", "double 4 {1: double 0, 2: double 4}"},
	/* precedence */
	{"* before +", "1 + 2 * 3", "u64 7"},
	{"/ before -", "7 - 6 / 2", "u64 4"},
	{"from left to right", "10 - 3 - 2", "u64 5"},
	{"* and / from left to right", "8 / 4 * 2", "u64 4"},
	{"parentheses first", "(1 + 2) * 3", "u64 9"},
	{"parentheses in parentheses, without blanks", "((1+2)*(3+4))/3", "u64 7"},
	{"names with points and colons", "k.sum:a*2", "u64 6"},
	/* metrics that the result lacks */
	{"a metric that the result does not have", "u + missing",
		"missing No such file or directory"},
	{"a metric that is a text", "u + text", "text Invalid argument"},
	{"a metric without a value", "none", "none Invalid argument"},
	/* errors */
	{"nothing", "", "1: expected a metric, a number or ( before the end of the expression"},
	{"an operator without its right side", "u + ",
		"5: expected a metric, a number or ( before the end of the expression"},
	{"no operator", "u v", "3: expected an operator, not v"},
	{"a sign", "-u", "1: expected a metric, a number or (, not -u"},
	{"an open parenthesis", "(u + v",
		"7: expected an operator or ) before the end of the expression"},
	{"a parenthesis too many", "(u) )", "5: expected an operator, not )"},
	{"no such function", "2 * round(u)", "5: unknown function round"},
	{"two arguments", "revise_min(u, v)", "13: expected an operator or ), not , v)"},
	{"an unknown operator", "u % 2", "3: expected an operator, not % 2"},
	{"a number with letters", "2 + 3x", "5: not a number: 3x"},
	{"two points", "1.2.3", "1: not a number: 1.2.3"},
	{"a large number", "18446744073709551616", "1: number exceeds 64 bits"},
};

static void limits(const Ncu__ProfileResult *r)
{
	char text[4096], found[256];
	for (unsigned depth = EXPRESSION_DEPTH_MAX; depth <= EXPRESSION_DEPTH_MAX + 1; depth++) {
		memset(text, '(', depth);
		text[depth] = '1';
		memset(text + depth + 1, ')', depth);
		text[2 * depth + 1] = 0;
		compute(r, text, found, sizeof(found));
		check(!strcmp(found,
			      depth > EXPRESSION_DEPTH_MAX ? "65: more than 64 nested parentheses"
							   : "u64 1"),
			"%u parentheses: %s", depth, found);
	}
	char *to = stpcpy(text, "1");
	for (unsigned i = 1; i < EXPRESSION_STEPS_MAX; i++)
		to = stpcpy(to, "+1");
	compute(r, text, found, sizeof(found));
	check(strstr(found, "more than 512") != NULL, "a long expression: %s", found);
	text[EXPRESSION_STEPS_MAX - 1] = 0;
	compute(r, text, found, sizeof(found));
	check(!strcmp(found, "u64 256"), "an expression of half that length is accepted: %s",
		found);
}

int main(void)
{
	char problems[NCU_PROBLEM_BYTES], found[512];
	Ncu__ProfileResult *r =
		ncu_text_message(&ncu__profile_result__descriptor, result_text, problems);
	if (!check(r != NULL, "the result: %s", *problems ? problems : "read"))
		return tap_done();
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		compute(r, rules[i].text, found, sizeof(found));
		check(!strcmp(found, rules[i].wanted), "%s: %s = %s", rules[i].rule, rules[i].text,
			found);
	}
	limits(r);
	ncu__profile_result__free_unpacked(r, NULL);
	return tap_done();
}
