/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - reads the lines of a CodeXL table: performance counters or occupancy of kernels. Used
 * only inside reader/codexl/. One thread; allocates.
 */
#ifndef READER_CODEXL_TABLE_H
#define READER_CODEXL_TABLE_H

#include "reader/codexl/file.h"
#include "reader/codexl/words.h"

/* Read a line: comment of the header, names of columns, or row. Returns as codexl_file_line(). */
int codexl_table_line(struct codexl_file *f, struct codexl_words line);

/* Check that the file had the names of columns. Returns as codexl_file_line(). */
int codexl_table_end(struct codexl_file *f);

#endif
