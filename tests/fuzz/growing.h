/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growing.h - bytes that grow up to a limit, with a source of random numbers, for mutators of
 * fuzzers. What does not fit is left out, and `is_full` says so.
 *
 * One thread; allocates; out of memory ends the program.
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
	uint64_t state; /* of the random numbers */
	struct growing *parent;
};

/* The first takes its random numbers from `seed`; a child shares those of what it will be put
 * into. */
struct growing growing_new(size_t max, unsigned seed);
struct growing growing_child(struct growing *g);
void growing_free(struct growing *g);

uint64_t growing_random(struct growing *g);
void growing_put(struct growing *g, const void *data, size_t bytes);

/* Changes what is there as LLVMFuzzerMutate() does. */
void growing_mutate(struct growing *g);

/* At most 10 bytes to `out`; returns how many. */
size_t growing_varint(uint8_t *out, uint64_t value);
void growing_put_varint(struct growing *g, uint64_t value);
void growing_put_key(struct growing *g, uint32_t number, unsigned wire);

/* Puts the child's bytes behind their number as a varint, and frees it. */
void growing_put_child(struct growing *g, struct growing *child);

#endif
