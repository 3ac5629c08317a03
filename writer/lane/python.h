/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - definitions of Python code objects whose frames are in callchains.
 *
 * One thread.
 */
#ifndef WRITER_LANE_PYTHON_H
#define WRITER_LANE_PYTHON_H

#include "writer/lane/segment.h"

/* A code object; its texts are names of the spool (base/names.h). */
struct python_code {
	uint32_t file, name, table;
	uint32_t first_line, lines; /* `lines`: enum python_lines */
};

/* Process the record of a definition (lane/segment.h): add its row, and keep what
 * python_code_find() returns. */
record_put python_code_put;

/* Return the code object of a Python frame's address; NULL = it is not known. Valid until the next
 * definition. */
const struct python_code *python_code_find(struct spool *spool, uint64_t address);

#endif
