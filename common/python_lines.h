/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_lines.h - source lines of the instructions of Python code objects. Any bytes may be passed
 * as a line table. Thread-safe.
 */
#ifndef COMMON_PYTHON_LINES_H
#define COMMON_PYTHON_LINES_H

#include <stdint.h>

/*
 * Return the line of an instruction (PYTHON_INSTRUCTION_OF()); 0 = the table has no line for it.
 * `lines`: enum python_lines.
 */
uint32_t python_line(const uint8_t *table, uint32_t bytes, uint32_t lines, uint32_t first_line,
	uint32_t instruction);

#endif
