/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growing.h - a byte buffer that grows up to a limit, with a source of random numbers, for mutators
 * of fuzzers. Data that does not fit is left out, and `is_full` is set.
 *
 * Not thread-safe; allocates; out of memory ends the program.
 */
#ifndef TESTS_FUZZ_GROWING_H
#define TESTS_FUZZ_GROWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct growing {
	uint8_t *data;
	size_t bytes, capacity, max;
	bool is_full;
	uint64_t state; /* state of the random numbers */
	struct growing *parent;
};

/* The first buffer takes its random numbers from `seed`; a child shares the numbers of the buffer
 * to which it will be appended. */
struct growing growing_new(size_t max, unsigned seed);
struct growing growing_child(struct growing *g);
void growing_free(struct growing *g);

uint64_t growing_random(struct growing *g);
void growing_put(struct growing *g, const void *data, size_t bytes);

/* Mutate the content as LLVMFuzzerMutate() does. */
void growing_mutate(struct growing *g);

/* Write at most 10 bytes to `out`; return their number. */
size_t growing_varint(uint8_t *out, uint64_t value);
void growing_put_varint(struct growing *g, uint64_t value);
void growing_put_key(struct growing *g, uint32_t number, unsigned wire);

/* Append the child's bytes, preceded by their number as a varint, and free the child. */
void growing_put_child(struct growing *g, struct growing *child);

#endif
