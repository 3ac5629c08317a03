/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - single values of NVTX payloads: numbers of every type, characters and texts.
 *
 * Bytes lie anywhere, at no alignment, in the byte order of x86-64. No state; any thread with its
 * own stream.
 */
#ifndef READER_NVTX_VALUES_H
#define READER_NVTX_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* `bytes` at most 8. */
uint64_t nvtx_unsigned(const uint8_t *at, uint32_t bytes);

/* An integer of a type as a length: negative ones are 0. */
uint64_t nvtx_length(uint64_t type, const uint8_t *at, uint32_t bytes);

/* A type of one character? */
bool nvtx_is_character(uint64_t type);

/* A value of a type of NVTX as JSON; null where `bytes` are too few or there is no such type. */
void nvtx_value_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

/* An integer of up to 8 bytes as it is; false where the type is none. */
bool nvtx_integer(uint64_t type, const uint8_t *at, uint32_t bytes, int64_t *ret_value);

/* A text as it is, in UTF-8, up to a unit of 0. */
void nvtx_text_write(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

/* A text as a JSON string, up to a unit of 0. */
void nvtx_text_print(FILE *out, uint64_t type, const uint8_t *at, uint64_t bytes);

#endif
