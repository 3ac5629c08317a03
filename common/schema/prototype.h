/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prototype.h - prototype lines: which words of a call to keep, and their names.
 *
 * A prototype is the list of a function's arguments, separated by commas, in the order of the call:
 * `_` for a word that is not kept, else a name, with the type of the word before it if that is not
 * a plain word: "id, _, int m, ulong bytes". Floating-point arguments are not words, and are left
 * out: they are in vector registers. The report holds the prototype as it was written.
 *
 * The tracer reads prototypes inside a traced process, so that nothing here calls libc. All
 * functions: any thread, async-signal-safe.
 */
#ifndef COMMON_PROTOTYPE_H
#define COMMON_PROTOTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/spool.h"

#define PROTOTYPE_WORDS_MAX FUNCTION_WORDS_MAX
#define PROTOTYPE_ARGUMENTS_MAX 30u /* the first 6 are in registers */
#define PROTOTYPE_NAME_BYTES_MAX 31u

enum word_type {
	WORD_PLAIN, /* 64 bits, shown in hexadecimal */
	WORD_POINTER,
	WORD_INT,  /* 32 bits, signed; the upper half of the register is not defined */
	WORD_UINT, /* 32 bits */
	WORD_LONG, /* 64 bits, signed */
	WORD_ULONG
};

/* A word that is kept. The name points into the prototype. */
struct prototype_word {
	const char *name;
	uint8_t name_bytes;
	uint8_t index; /* among the arguments */
	uint8_t type;  /* enum word_type */
};

struct prototype {
	uint32_t count;
	struct prototype_word words[PROTOTYPE_WORDS_MAX];
};

/* Read the prototype from `text` to `end`. Return false if it is not of the form above, or has too
 * many words. */
bool prototype_read(const char *text, const char *end, struct prototype *ret_prototype);

/* Return the bits of a word of this type that count. */
static inline uint64_t word_mask(uint32_t type)
{
	return type == WORD_INT || type == WORD_UINT ? UINT32_MAX : UINT64_MAX;
}

/* Return the bit that is its sign; 0 = it has none. */
static inline uint64_t word_sign(uint32_t type)
{
	return type == WORD_INT ? UINT64_C(1) << 31 : 0;
}

/* Return the value of a word by its mask and sign, without a branch. */
static inline uint64_t word_value(uint64_t word, uint64_t mask, uint64_t sign)
{
	return ((word & mask) ^ sign) - sign;
}

/* Return true if words of this type are shown in hexadecimal. */
static inline bool word_is_hex(uint32_t type)
{
	return type == WORD_PLAIN || type == WORD_POINTER;
}

/* Return true if words of this type are shown as signed numbers. */
static inline bool word_is_signed(uint32_t type)
{
	return type == WORD_INT || type == WORD_LONG;
}

#endif
