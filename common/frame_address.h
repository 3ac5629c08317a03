/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_address.h - frames of callchains that are not return addresses, in spools and reports.
 */
#ifndef COMMON_FRAME_ADDRESS_H
#define COMMON_FRAME_ADDRESS_H

#include <stdint.h>

/*
 * The address of a Python frame: a code object and an instruction in place of a return address. It
 * has a bit that is 0 in every address of a program.
 */
#define ADDRESS_PYTHON (UINT64_C(1) << 62)
#define PYTHON_INSTRUCTION_BITS 24u
#define PYTHON_INSTRUCTION_MAX ((1u << PYTHON_INSTRUCTION_BITS) - 1)
#define PYTHON_CODES_MAX (1u << 20)

/* `id`: 0 = not known. `instruction`: its index in units of two bytes, plus 1; 0 = before the first
 * one. */
#define PYTHON_ADDRESS(id, instruction)                               \
	(ADDRESS_PYTHON | (uint64_t)(id) << PYTHON_INSTRUCTION_BITS | \
		((instruction) < PYTHON_INSTRUCTION_MAX ? (instruction) : PYTHON_INSTRUCTION_MAX))
#define PYTHON_CODE_OF(address) \
	((uint32_t)(((address) & ~ADDRESS_PYTHON) >> PYTHON_INSTRUCTION_BITS))
#define PYTHON_INSTRUCTION_OF(address) ((uint32_t)(address)&PYTHON_INSTRUCTION_MAX)

/* In the address of a Python frame: the frame is not on the stack. It is suspended and awaits the
 * task in which the frames within it run. */
#define PYTHON_AWAITS (UINT64_C(1) << 60)

/* Encodings of a code object's line table. */
enum python_lines {
	PYTHON_LNOTAB = 1, /* co_lnotab, to 3.9 */
	PYTHON_LINETABLE,  /* co_linetable of 3.10 (PEP 626) */
	PYTHON_LOCATIONS   /* co_linetable from 3.11 on (PEP 657) */
};

#endif
