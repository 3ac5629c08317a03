/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain_print.h - output of a callchain as text or JSON.
 *
 * One thread per stream; errors remain set in the stream.
 */
#ifndef READER_SYMBOLS_CHAIN_PRINT_H
#define READER_SYMBOLS_CHAIN_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/report/processes.h"
#include "reader/symbols/symbols.h"

struct printed_chain {
	uint32_t node;       /* its innermost frame */
	bool is_interrupted; /* the innermost frame is an interrupted instruction (CPU samples) */
	uint64_t ns;         /* end of the call */
};

/*
 * Print "inner <- outer <- main", in quotes: the functions of a callchain. An unknown function
 * prints as module+0xoffset; without `symbols` (NULL), addresses are printed. A callchain whose end
 * is not in the file ends with "?". If it has Python frames, " at file.py:line" follows: the
 * innermost line outside of the standard library and packages.
 */
void chain_print_text(
	FILE *out, struct symbols *symbols, const struct process *p, const struct printed_chain *c);

/* Print an array of frames, innermost first: address, function, offset, module, file, line,
 * inlined; the reason if the function is not known. Without `symbols`, print addresses alone. */
void chain_print_json(
	FILE *out, struct symbols *symbols, const struct process *p, const struct printed_chain *c);

/* Print the place of a return address in quotes: "function (file.c:12)", module+0xoffset if the
 * function is not known, else the address; null for 0. `ns`: a time at which it was called. */
void code_print(
	FILE *out, struct symbols *symbols, const struct process *p, uint64_t address, uint64_t ns);

#endif
