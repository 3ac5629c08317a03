/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - metrics of a result: found by name, their values, and both as Nsight Compute prints
 * them.
 *
 * No state; any thread. Nothing is copied: pointers live as long as the result.
 */
#ifndef READER_NCU_METRICS_H
#define READER_NCU_METRICS_H

#include "reader/ncu/results.h"

#define NCU_UNIT_BYTES 64u
#define NCU_NUMBER_BYTES 64u

/* The metric with that name, the first where several have it; NULL: the result has none. */
const Ncu__ProfileMetricResult *ncu_metric_find(
	const struct ncu_results *n, const Ncu__ProfileResult *result, const char *name);

/* Is it a number, and which? A double keeps uint64 up to 2^53 exactly. */
bool ncu_value_number(const Ncu__ProfileMetricValue *value, double *ret_number);

/* Unit of a metric by its name, "" without one: in base units (byte, nsecond, cycle/second). */
void ncu_unit(const char *name, char ret_unit[NCU_UNIT_BYTES]);

/* The unit that makes `number` readable (byte: Kbyte, Mbyte ...; nsecond: usecond ...), in place.
 * Returns what to divide by. */
double ncu_unit_scale(char unit[NCU_UNIT_BYTES], double number);

/* A number as in tables: none or two digits behind the point. */
void ncu_number_text(double number, char ret_text[NCU_NUMBER_BYTES]);

#endif
