/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - sum(x), which replaces SQLite's. Called by functions.c alone.
 *
 * SQLite's sum() of integers fails beyond 64 bits, and with it the whole report. A database may
 * hold any numbers, so this one returns the nearest floating-point number then. Else the result is
 * that of SQLite's: NULL without values, an integer of integers, otherwise a floating-point number.
 */
#ifndef READER_SQL_SUMS_H
#define READER_SQL_SUMS_H

#include "reader/sql/connection.h"

/* Register sum(). Returns 0 or an error of SQLite. */
int sums_add(struct sql *s);

#endif
