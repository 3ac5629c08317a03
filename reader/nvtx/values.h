/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - scalar values of NVTX payloads: numbers of all types, characters and texts.
 *
 * Data has any alignment and the byte order of x86-64. No state; any thread, each with its own
 * stream.
 */
#ifndef READER_NVTX_VALUES_H
#define READER_NVTX_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Read an unsigned integer of at most 8 bytes. */
uint64_t nvtx_unsigned(const uint8_t *at, uint32_t bytes);

/* Read an integer of a type as a length; negative values give 0. */
uint64_t nvtx_length(uint64_t type, const uint8_t *at, uint32_t bytes);

/* Return true if the type is a single character. */
bool nvtx_is_character(uint64_t type);

/* Print a value of an NVTX type as JSON; null if there are too few `bytes` or the type is
 * unknown. */
void nvtx_value_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

/* Read an integer of up to 8 bytes; false if the type is not an integer. */
bool nvtx_integer(uint64_t type, const uint8_t *at, uint32_t bytes, int64_t *ret_value);

/* Write a text in UTF-8, up to the first code unit 0. */
void nvtx_text_write(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

/* Print a text as a JSON string, up to the first code unit 0. */
void nvtx_text_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

#endif
