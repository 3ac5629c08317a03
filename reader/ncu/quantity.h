/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity.h - value of a metric for the arithmetic of derived metrics: one number, or numbers by
 * correlation id with an aggregate.
 *
 * Rules: Nsight Compute Customization Guide 2.5. Numbers have C types: the operand with the lower
 * precision is converted to the type of the other. Instances keep the order of the left operand;
 * correlation ids are not copied and live as long as their result. One thread; allocates.
 */
#ifndef READER_NCU_QUANTITY_H
#define READER_NCU_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncu.pb-c.h"

/* The types of numbers, in order of precision. */
enum number_kind { NUMBER_UINT32, NUMBER_UINT64, NUMBER_FLOAT, NUMBER_DOUBLE };

struct number {
	enum number_kind kind;
	uint64_t whole; /* value of the first two kinds */
	double real;    /* value of the other kinds */
};

struct quantity_instance {
	const Ncu__ProfileMetricValue *id;
	struct number value;
};

struct quantity {
	struct number aggregate; /* the value itself if there are no instances */
	struct quantity_instance *instances;
	size_t count;
	bool is_instanced; /* true even if count is 0, as when no ids are common */
};

enum quantity_revision { REVISE_MIN, REVISE_MAX, REVISE_AVG, REVISE_SUM };

struct quantity quantity_of_number(struct number number);

/* Read the value of a stored metric; if it has only instances, the aggregate is their sum. Returns
 * 0; -EINVAL if it is a text or has no value; -ENOMEM. */
int quantity_of_metric(const Ncu__ProfileMetricResult *metric, struct quantity *ret_quantity);
void quantity_release(struct quantity *q);

/*
 * Compute a = a `operation` b, and release b, even after an error. operation: + - * /.
 *
 * A single number is combined with each instance of the other operand. Instances are paired by
 * correlation id; an instance that only one operand has is copied by + and -, dropped by * and /.
 * The aggregate becomes the sum of the instances. A negative difference of unsigned numbers has
 * type double. Whole numbers divide to whole numbers, and division by zero returns the dividend.
 * Returns 0 or -ENOMEM.
 */
int quantity_combine(struct quantity *a, char operation, struct quantity *b);

/* Compute the aggregate from the instances; their average is a double. Does nothing without
 * instances. */
void quantity_revise(struct quantity *q, enum quantity_revision revision);

/* Drop the instances and keep the aggregate. */
void quantity_simplify(struct quantity *q);

/* Replace values that are not a number by 0 and compute the aggregate again. */
void quantity_nan_as_zero(struct quantity *q);

#endif
