/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enums.h - tables of names for numbers: the ENUM_* tables of nsys, and LIBTRACE_ENUM_* from
 * events.def.
 *
 * One thread.
 */
#ifndef READER_EXPORT_SQLITE_ENUMS_H
#define READER_EXPORT_SQLITE_ENUMS_H

#include "reader/export/sqlite/database.h"

/* Write the tables. Returns 0 or a negative errno. */
int enum_tables_write(struct database *d);

#endif
