/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_flame.h - the callchains of a page (page.h).
 */
#ifndef READER_CLI_REPORT_PAGE_FLAME_H
#define READER_CLI_REPORT_PAGE_FLAME_H

#include <stdio.h>

#include "reader/sql/connection.h"

/* Print the tree of callchains of a database as JSON. Returns 0 or a negative errno; `s` has the
 * cause if the database failed. One thread; allocates. */
int page_flame(FILE *out, struct sql *s);

#endif
