/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_expression.c - fuzz target of derived metrics: parses arbitrary text as an expression, and
 * computes it over a result with single and instanced metrics, named a to f.
 *
 * clang -fsanitize=fuzzer provides main().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/ncu/derive.h"
#include "reader/ncu/text_format.h"

static const char text[] =
	"MetricResults { NameId: 0 MetricValue { Uint64Value: 7 } }"
	"MetricResults { NameId: 1 MetricValue { DoubleValue: -0.5 } }"
	"MetricResults { NameId: 2 MetricValue { Uint32Value: 4294967295 } }"
	"MetricResults { NameId: 3 MetricValue { FloatValue: 3 }"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { Uint64Value: 10 } }"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { DoubleValue: nan } }"
	" MetricValueList { CorrelationId { StringValue: 'x' } ElementValue { Uint64Value: 0 } } }"
	"MetricResults { NameId: 4"
	" MetricValueList { CorrelationId { DoubleValue: nan } ElementValue { Uint64Value: 1 } }"
	" MetricValueList { ElementValue { Uint32Value: 2 } }"
	" MetricValueList { CorrelationId { Uint64Value: 1 } ElementValue { Uint64Value: 5 } } }"
	"MetricResults { NameId: 5 MetricValue { StringValue: 'text' } }";

static void note_problem(void *user, const struct text_problem *p)
{
	(void)user;
	(void)p;
	abort();
}

static Ncu__ProfileResult *result_make(void)
{
	uint8_t *packed;
	size_t count;
	if (text_format_pack(&ncu__profile_result__descriptor, text, strlen(text), note_problem,
		    NULL, &packed, &count))
		abort();
	Ncu__ProfileResult *r = ncu__profile_result__unpack(NULL, count, packed);
	free(packed);
	return r;
}

/* Abort if the added metric has no value or cannot be packed. */
static void metric_check(const Ncu__ProfileMetricResult *m)
{
	size_t bytes = ncu__profile_metric_result__get_packed_size(m);
	uint8_t *packed = malloc(bytes + 1);
	if (!m->metric_value || !packed || ncu__profile_metric_result__pack(m, packed) != bytes)
		abort();
	free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *names[] = {"a", "b", "c", "d", "e", "f", "new"};
	const struct ncu_results results = {.names = names, .name_count = 7};
	struct ncu_definitions definitions = {0};
	struct expression_problem problem;
	char *expression = strndup((const char *)data, size);
	const size_t bytes = strlen(expression);
	int error = ncu_definitions_add(&definitions, "new", expression, &problem);
	if (error && (error != -EINVAL || !problem.column || problem.column > bytes + 1))
		abort();
	free(expression);
	if (!error) {
		Ncu__ProfileResult *r = result_make();
		const size_t before = r->n_metric_results;
		definitions.list[0].name_id = 6;
		if (ncu_derive(&definitions, &results, r) ||
			r->n_metric_results != before + definitions.list[0].added)
			abort();
		if (r->n_metric_results > before)
			metric_check(r->metric_results[before]);
		ncu__profile_result__free_unpacked(r, NULL);
	}
	ncu_definitions_release(&definitions);
	return 0;
}
