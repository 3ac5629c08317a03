/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain_print.h - a callchain as text or JSON.
 *
 * One thread per stream.
 */
#ifndef READER_SYMBOLS_CHAIN_PRINT_H
#define READER_SYMBOLS_CHAIN_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "reader/report/processes.h"
#include "reader/symbols/symbols.h"

/*
 * "inner <- outer <- main", in quotes: the functions of the chain of node `id`, for a call that
 * ended at `ns`. A function that is not known is module+0xoffset. Without `symbols` (NULL): the
 * addresses. A chain whose end the file does not tell ends with "?".
 */
void chain_print_text(
	FILE *out, struct symbols *symbols, const struct process *p, uint32_t id, uint64_t ns);

/* An array of frames, innermost first: address, function, offset, module, file, line, inlined;
 * where the function is not known the reason. Without `symbols` the address alone. */
void chain_print_json(
	FILE *out, struct symbols *symbols, const struct process *p, uint32_t id, uint64_t ns);

#endif
