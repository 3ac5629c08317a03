/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutate.h - changes inputs of fuzzers so that they stay what they are: messages by their
 * descriptor, reports block by block with sizes and checksums that fit.
 *
 * For LLVMFuzzerCustomMutator(). What changes is a function of the bytes and the seed alone. One
 * thread; allocates.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

/* Of libFuzzer, or of driver.c: changes any bytes, returns how many there are now. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);

/* Changes the message at some places: fields are left out, added, doubled, repeated, exchanged or
 * get other values, at any depth. `type` NULL: not known. Returns its new size, at most `max`. */
size_t mutate_message(const ProtobufCMessageDescriptor *type, uint8_t *data, size_t bytes,
	size_t max, unsigned seed);

/* The same of a report: entries and headers of blocks, and the blocks themselves. */
size_t mutate_report(uint8_t *data, size_t bytes, size_t max, unsigned seed);

/* Gives every block the checksum of its payload, or nobody would come past it. */
void mutate_mend(uint8_t *data, size_t bytes);

#endif
