/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - metrics of a result: lookup by name, values, and the formatting of Nsight Compute.
 *
 * No state; any thread. Nothing is copied: pointers live as long as the result.
 */
#ifndef READER_NCU_METRICS_H
#define READER_NCU_METRICS_H

#include "reader/ncu/results.h"

#define NCU_UNIT_BYTES 64u
#define NCU_NUMBER_BYTES 64u

/* Return the metric with this name; NULL = not in the result. Of several metrics with the name,
 * the last applies, as in Nsight Compute. */
const Ncu__ProfileMetricResult *ncu_metric_find(
	const struct ncu_results *n, const Ncu__ProfileResult *result, const char *name);

/* Free the metrics of a result that a later metric of the same name replaces. The others keep their
 * order. Returns 0 or -ENOMEM. */
int ncu_metrics_settle(const struct ncu_results *n, Ncu__ProfileResult *result);

/* Return true if the value is a number, and store it in *ret_number. A double represents uint64
 * exactly up to 2^53. */
bool ncu_value_number(const Ncu__ProfileMetricValue *value, double *ret_number);

/* Return the unit of a metric by its name, "" if it has none, in base units (byte, nsecond,
 * cycle/second). */
void ncu_unit(const char *name, char ret_unit[NCU_UNIT_BYTES]);

/* Scale a unit to make `number` readable (byte: Kbyte ... Pbyte; nsecond: usecond ... second;
 * X/second: X/msecond ... X/nsecond), in place. Negative numbers and NaN keep it. Returns the
 * divisor. */
double ncu_unit_scale(char unit[NCU_UNIT_BYTES], double number);

/* Format a number as in tables: with zero or two decimals; "nan" or "inf", without a sign, if it is
 * not finite. */
void ncu_number_text(double number, char ret_text[NCU_NUMBER_BYTES]);

#endif
