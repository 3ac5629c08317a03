/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate.h - changes inputs of fuzzers so that they stay well formed: messages by their descriptor,
 * reports block by block with matching sizes and checksums.
 *
 * For LLVMFuzzerCustomMutator(). The changes depend on the bytes and the seed alone. One
 * thread; allocates.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Mutate any bytes; return their new number. Defined by libFuzzer or driver.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);

/* Mutate the message at some places: fields are left out, added, doubled, repeated, exchanged or
 * get other values, at any depth. `type` is NULL if unknown. Return the new size, at most `max`. */
size_t mutate_message(const ProtobufCMessageDescriptor *type, uint8_t *data, size_t bytes,
	size_t max, unsigned seed);

/* Mutate a report in the same way: entries and headers of blocks, and the blocks themselves. */
size_t mutate_report(uint8_t *data, size_t bytes, size_t max, unsigned seed);

/* Give every block the checksum of its payload; otherwise the reader would stop there. */
void mutate_mend(uint8_t *data, size_t bytes);

#endif
