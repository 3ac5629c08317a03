/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity.h - the value of a metric as derived metrics compute with it: one number, or numbers by
 * correlation id with an aggregate.
 *
 * Rules: Nsight Compute Customization Guide 2.5. Numbers have the types of C: of two operands the
 * one with the lower precision is converted to that of the other. Instances are in the order of the
 * left operand; correlation ids are not copied and live as long as the result that they are from.
 * One thread; allocates.
 */
#ifndef READER_NCU_QUANTITY_H
#define READER_NCU_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncu.pb-c.h"

/* In the order of their precision. */
enum number_kind { NUMBER_UINT32, NUMBER_UINT64, NUMBER_FLOAT, NUMBER_DOUBLE };

struct number {
	enum number_kind kind;
	uint64_t whole; /* of the first two kinds */
	double real;    /* of the others */
};

struct quantity_instance {
	const Ncu__ProfileMetricValue *id;
	struct number value;
};

struct quantity {
	struct number aggregate; /* the value itself where there are no instances */
	struct quantity_instance *instances;
	size_t count;
	bool is_instanced; /* also with a count of 0: nothing met */
};

enum quantity_revision { REVISE_MIN, REVISE_MAX, REVISE_AVG, REVISE_SUM };

struct quantity quantity_of_number(struct number number);

/* The value of a stored metric; where it has only instances the aggregate is their sum. 0; -EINVAL:
 * it is a text or has none; -ENOMEM. */
int quantity_of_metric(const Ncu__ProfileMetricResult *metric, struct quantity *ret_quantity);
void quantity_release(struct quantity *q);

/*
 * a = a `operation` b; b is released in any case. operation: + - * /.
 *
 * A single number meets each instance of the other side. Instances meet by correlation id; those
 * that only one side has are copied by + and -, dropped by * and /. The aggregate becomes the sum
 * of the instances. Unsigned - unsigned that is negative: the result is of type double. Whole
 * numbers divide to whole ones, and by zero to the dividend. 0 or -ENOMEM.
 */
int quantity_combine(struct quantity *a, char operation, struct quantity *b);

/* The aggregate anew, from the instances; their average is a double. Nothing without instances. */
void quantity_revise(struct quantity *q, enum quantity_revision revision);

/* Leaves the aggregate alone. */
void quantity_simplify(struct quantity *q);

/* 0 for what is not a number, and the aggregate anew. */
void quantity_nan_as_zero(struct quantity *q);

#endif
