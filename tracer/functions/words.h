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
	for (uint32_t i = 0; i < count; i++) {
		const struct kept_word *w = &kept->words[i];
		words->word[i] = word_value(frame[w->slot], w->mask, w->sign);
	}
	words->count = count;
	words->prototype = kept->name ? kept->name->ref : 0;
}

static inline uint32_t words_count(const struct function_words *words)
{
	return words->count < FUNCTION_WORDS_MAX ? words->count : FUNCTION_WORDS_MAX;
}

/* Return the number of slots of the record of the words; 0 = no word is kept. */
static inline uint32_t words_slots(const struct function_words *words)
{
	if (!words || !words->prototype)
		return 0;
	return 1 + (words_count(words) * 8 + RECORD_BYTES - 1) / RECORD_BYTES;
}

/* Fill the record of the words, of words_slots() slots. Return the record after it. */
static inline struct record *words_fill(
	struct record *r, const struct function_words *words, uint64_t tick)
{
	uint32_t slots = words_slots(words), count = slots ? words_count(words) : 0;
	if (!slots)
		return r;
	uint64_t *payload = (uint64_t *)(void *)(r + 1);
	r->tick = tick;
	r->word = (uint64_t)count * 8 << RECORD_LENGTH_SHIFT | REC_FUNCTION_WORDS;
	r->a = words->prototype;
	r->b = count;
	for (uint32_t i = 0; i < count; i++)
		payload[i] = words->word[i];
	return r + slots;
}

#endif
