/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - the words that are kept of calls of library functions.
 *
 * The words of an open call are in the spool, beside its entry, so that they are known of a call
 * that never returns. Its record follows a record of the words.
 */
#ifndef TRACER_FUNCTIONS_WORDS_H
#define TRACER_FUNCTIONS_WORDS_H

#include "tracer/functions/functions.h"

/* Return the words of an entry of the stack; NULL = it has none. */
static inline struct function_words *words_of(
	const struct function_stack *stack, const struct function_open *open)
{
	char *words = (char *)(uintptr_t)stack + FUNCTION_STACK_BYTES;
	return stack->has_words ? (struct function_words *)(void *)words + (open - stack->open)
				: NULL;
}

/* Return the words of a call that is recorded; NULL = it has none, or it was taken for left and
 * another one has its entry. */
static inline struct function_words *words_of_call(const struct function_frame *f)
{
	return f->traced == TRACED && f->open && f->open->tick == f->tick
		? words_of(f->stack, f->open)
		: NULL;
}

/* Keep the words of a call that begins. Arguments beyond those that the caller's frame has are not
 * read. */
static inline void words_keep(struct function_words *words, const struct function_frame *f)
{
	const struct kept_words *kept = &function_tables->prototypes[f->prototype];
	const uint64_t *frame = (const uint64_t *)(const void *)f;
	uint32_t readable = CALL_REGISTER_WORDS + f->copied / 8, count = kept->count;
	if (__builtin_expect(readable < kept->readable, 0))
		for (count = 0; kept->words[count].index < readable;)
			count++;
	uint64_t *to = words->word;
	for (const struct kept_word *w = kept->words, *end = w + count; w < end; w++)
		*to++ = word_value(frame[w->slot], w->mask, w->sign);
	words->count = count;
	words->prototype = kept->name ? kept->name->ref : 0;
}

static inline uint32_t words_count(const struct function_words *words)
{
	return words->count < FUNCTION_WORDS_MAX ? words->count : FUNCTION_WORDS_MAX;
}

/* Return the number of words that the hook of the call has added. */
static inline uint32_t added_count(const struct function_frame *f)
{
	return f ? (uint16_t)f->added : 0;
}

/* Count what the hook has added as dropped, since the call's record has no words. */
static inline void added_drop(const struct function_frame *f)
{
	if (__builtin_expect(added_count(f) != 0, 0))
		session_count_drop(DROP_NO_LANE);
}

/* What the record of the words of a call has, read once: stores to the record could change it. */
struct words_size {
	uint32_t prototype; /* 0 = there is no record */
	uint32_t count, added;
	uint32_t slots;
};

static inline struct words_size words_size_of(
	const struct function_words *words, const struct function_frame *f)
{
	if (!words || !words->prototype)
		return (struct words_size){0};
	uint32_t count = words_count(words), added = added_count(f);
	uint32_t bytes = (count + added) * (uint32_t)sizeof(uint64_t);
	return (struct words_size){
		words->prototype, count, added, 1 + (bytes + RECORD_BYTES - 1) / RECORD_BYTES};
}

/* Copy at least `count` of at most 8 words, and up to three more, which nobody reads: the record of
 * the call is written there later, or nothing. */
static inline void words_copy(uint64_t *restrict to, const uint64_t *restrict from, uint32_t count)
{
	for (const uint64_t *end = from + count; from < end; from += 4, to += 4) {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
	}
}

/* Fill the record of the words, of size->slots slots. Return the record after it, which is filled
 * next. */
static inline struct record *words_fill(struct record *r, const struct words_size *size,
	const struct function_words *words, const struct function_frame *f, uint64_t tick)
{
	if (!size->slots)
		return r;
	uint64_t *payload = (uint64_t *)(void *)(r + 1);
	uint64_t bytes = (uint64_t)(size->count + size->added) * sizeof(uint64_t);
	words_copy(payload, words->word, size->count);
	if (size->added)
		words_copy(payload + size->count, f->scratch, size->added);
	r->tick = tick;
	r->word = bytes << RECORD_LENGTH_SHIFT | REC_FUNCTION_WORDS;
	r->a = size->prototype;
	r->b = size->count | (size->added ? f->added - size->added : 0);
	return r + size->slots;
}

#endif
