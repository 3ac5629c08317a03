/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.c - arithmetic on values of metrics. */
#include "reader/ncu/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static bool is_whole(const struct number *n)
{
	return n->kind <= NUMBER_UINT64;
}

static struct number number_as(struct number n, enum number_kind kind)
{
	if (is_whole(&n) && kind > NUMBER_UINT64)
		n.real = (double)n.whole;
	if (kind == NUMBER_FLOAT)
		n.real = (double)(float)n.real;
	n.kind = kind;
	return n;
}

static bool number_of(const Ncu__ProfileMetricValue *v, struct number *ret_number)
{
	*ret_number = (struct number){NUMBER_UINT32, 0, 0};
	if (v->has_double_value) {
		ret_number->kind = NUMBER_DOUBLE;
		ret_number->real = v->double_value;
	} else if (v->has_float_value) {
		ret_number->kind = NUMBER_FLOAT;
		ret_number->real = (double)v->float_value;
	} else if (v->has_uint64_value) {
		ret_number->kind = NUMBER_UINT64;
		ret_number->whole = v->uint64_value;
	} else if (v->has_uint32_value) {
		ret_number->whole = v->uint32_value;
	} else {
		return false;
	}
	return true;
}

static struct number combine_whole(struct number a, char operation, struct number b)
{
	if (operation == '-' && b.whole > a.whole)
		return (struct number){NUMBER_DOUBLE, 0, -(double)(b.whole - a.whole)};
	if (operation == '+')
		a.whole += b.whole;
	else if (operation == '-')
		a.whole -= b.whole;
	else if (operation == '*')
		a.whole *= b.whole;
	else if (b.whole)
		a.whole /= b.whole;
	if (a.kind == NUMBER_UINT32)
		a.whole &= UINT32_MAX;
	return a;
}

static struct number combine_real(struct number a, char operation, struct number b)
{
	if (operation == '+')
		a.real += b.real;
	else if (operation == '-')
		a.real -= b.real;
	else if (operation == '*')
		a.real *= b.real;
	else
		a.real /= b.real;
	return number_as(a, a.kind);
}

static struct number combine(struct number a, char operation, struct number b)
{
	const enum number_kind kind = a.kind > b.kind ? a.kind : b.kind;
	a = number_as(a, kind);
	b = number_as(b, kind);
	return is_whole(&a) ? combine_whole(a, operation, b) : combine_real(a, operation, b);
}

static bool is_less(const struct number *a, const struct number *b)
{
	return is_whole(a) ? a->whole < b->whole : a->real < b->real;
}

/* ---- correlation ids ---- */

static int by_number(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int id_kind(const Ncu__ProfileMetricValue *id)
{
	return id->string_value ? 0 : id->has_uint64_value || id->has_uint32_value ? 1 : 2;
}

static int compare_ids(const Ncu__ProfileMetricValue *a, const Ncu__ProfileMetricValue *b)
{
	struct number x, y;
	if (id_kind(a) != id_kind(b))
		return id_kind(a) - id_kind(b);
	if (a->string_value)
		return strcmp(a->string_value, b->string_value);
	number_of(a, &x);
	number_of(b, &y);
	if (is_whole(&x))
		return x.whole < y.whole ? -1 : x.whole > y.whole;
	return by_number(x.real, y.real);
}

/* Compare by id; of equal ids, the earlier instance comes first. */
static int by_id(const void *a, const void *b)
{
	const struct quantity_instance *x = *(struct quantity_instance *const *)a,
				       *y = *(struct quantity_instance *const *)b;
	int order = compare_ids(x->id, y->id);
	return order ? order : x < y ? -1 : x > y;
}

/* ---- quantities ---- */

struct quantity quantity_of_number(struct number number)
{
	return (struct quantity){.aggregate = number};
}

void quantity_release(struct quantity *q)
{
	free(q->instances);
	*q = (struct quantity){0};
}

/* Convert all instances to the widest of their types. */
static void unify(struct quantity *q)
{
	enum number_kind kind = NUMBER_UINT32;
	for (size_t i = 0; i < q->count; i++)
		if (q->instances[i].value.kind > kind)
			kind = q->instances[i].value.kind;
	for (size_t i = 0; i < q->count; i++)
		q->instances[i].value = number_as(q->instances[i].value, kind);
}

static const Ncu__ProfileMetricValue no_id = NCU__PROFILE_METRIC_VALUE__INIT;

int quantity_of_metric(const Ncu__ProfileMetricResult *m, struct quantity *q)
{
	const size_t count = m->n_metric_value_list;
	const bool has_value = m->metric_value && number_of(m->metric_value, &q->aggregate);
	q->instances = NULL;
	q->count = count;
	q->is_instanced = count > 0;
	if ((m->metric_value && !has_value) || (!has_value && !count))
		return -EINVAL;
	if (!count)
		return 0;
	q->instances = calloc(count, sizeof(*q->instances));
	if (!q->instances)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const Ncu__ProfileMetricListElement *e = m->metric_value_list[i];
		q->instances[i].id = e->correlation_id ? e->correlation_id : &no_id;
		if (!e->element_value || !number_of(e->element_value, &q->instances[i].value)) {
			quantity_release(q);
			return -EINVAL;
		}
	}
	unify(q);
	if (!has_value)
		quantity_revise(q, REVISE_SUM);
	return 0;
}

/* Combine two operands, one of which is a single number. */
static void combine_each(struct quantity *a, char operation, const struct quantity *b)
{
	for (size_t i = 0; i < a->count; i++)
		a->instances[i].value = combine(a->instances[i].value, operation, b->aggregate);
}

static void combine_each_right(const struct number *a, char operation, struct quantity *b)
{
	for (size_t i = 0; i < b->count; i++)
		b->instances[i].value = combine(*a, operation, b->instances[i].value);
}

/* The instances of one operand, sorted by id. */
struct sorted {
	struct quantity_instance **instances;
	bool *is_matched;
	size_t count;
};

static int sorted_init(struct sorted *s, const struct quantity *q)
{
	s->instances = calloc(q->count + 1, sizeof(struct quantity_instance *));
	s->is_matched = calloc(q->count + 1, sizeof(bool));
	s->count = q->count;
	if (!s->instances || !s->is_matched)
		return -ENOMEM;
	for (size_t i = 0; i < q->count; i++)
		s->instances[i] = &q->instances[i];
	qsort(s->instances, q->count, sizeof(struct quantity_instance *), by_id);
	return 0;
}

static void sorted_release(struct sorted *s)
{
	free(s->instances);
	free(s->is_matched);
}

/* Return the first instance with this id that was not returned before; NULL = there is none. */
static const struct quantity_instance *sorted_match(
	struct sorted *s, const Ncu__ProfileMetricValue *id)
{
	size_t low = 0, high = s->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = compare_ids(s->instances[middle]->id, id);
		if (order < 0 || (!order && s->is_matched[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->count || compare_ids(s->instances[low]->id, id) != 0)
		return NULL;
	s->is_matched[low] = true;
	return s->instances[low];
}

/* Combine two operands that both have instances. */
static int combine_instances(struct quantity *a, char operation, const struct quantity *b)
{
	const bool is_union = operation == '+' || operation == '-';
	struct sorted right;
	size_t count = 0;
	int error = sorted_init(&right, b);
	struct quantity_instance *all =
		error ? NULL : calloc(a->count + (is_union ? b->count : 0) + 1, sizeof(*all));
	if (!error && !all)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < a->count; i++) {
		const struct quantity_instance *match = sorted_match(&right, a->instances[i].id);
		all[count] = a->instances[i];
		if (match)
			all[count].value = combine(all[count].value, operation, match->value);
		count += match || is_union;
	}
	for (size_t i = 0; !error && is_union && i < right.count; i++)
		if (!right.is_matched[i])
			all[count++] = *right.instances[i];
	sorted_release(&right);
	if (error)
		return error;
	free(a->instances);
	a->instances = all;
	a->count = count;
	return 0;
}

int quantity_combine(struct quantity *a, char operation, struct quantity *b)
{
	const struct number single = combine(a->aggregate, operation, b->aggregate);
	int error = 0;
	if (a->is_instanced && b->is_instanced) {
		error = combine_instances(a, operation, b);
	} else if (a->is_instanced) {
		combine_each(a, operation, b);
	} else if (b->is_instanced) {
		combine_each_right(&a->aggregate, operation, b);
		*a = *b;
		b->instances = NULL;
	}
	quantity_release(b);
	a->aggregate = single;
	if (error || !a->is_instanced)
		return error;
	unify(a);
	a->aggregate = (struct number){single.kind, 0, 0};
	quantity_revise(a, REVISE_SUM);
	return 0;
}

void quantity_revise(struct quantity *q, enum quantity_revision revision)
{
	if (!q->count)
		return;
	struct number result = q->instances[0].value;
	for (size_t i = 1; i < q->count; i++) {
		const struct number *value = &q->instances[i].value;
		if (revision == REVISE_MIN)
			result = is_less(value, &result) ? *value : result;
		else if (revision == REVISE_MAX)
			result = is_less(&result, value) ? *value : result;
		else
			result = combine(result, '+', *value);
	}
	if (revision == REVISE_AVG) {
		result = number_as(result, NUMBER_DOUBLE);
		result.real /= (double)q->count;
	}
	q->aggregate = result;
}

void quantity_simplify(struct quantity *q)
{
	free(q->instances);
	*q = quantity_of_number(q->aggregate);
}

static void clear_nan(struct number *n)
{
	if (!is_whole(n) && isnan(n->real))
		n->real = 0;
}

void quantity_nan_as_zero(struct quantity *q)
{
	for (size_t i = 0; i < q->count; i++)
		clear_nan(&q->instances[i].value);
	quantity_revise(q, REVISE_SUM);
	clear_nan(&q->aggregate);
}
