/* SPDX-License-Identifier: Apache-2.0 */
/* note.c - comments of NVTXT files that carry values of libtrace. */
#include "reader/nvtxt/note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "# libtrace:"

static const struct {
	const char *key;
	size_t offset;
} numbers[] = {
#define NUMBER(member)                                       \
	{                                                    \
#member, offsetof(struct nvtxt_note, member) \
	}
	NUMBER(origin), NUMBER(payload_type), NUMBER(payload), NUMBER(flags), NUMBER(level),
	NUMBER(range), NUMBER(instant), NUMBER(start_thread), NUMBER(what), NUMBER(process),
	NUMBER(thread), NUMBER(identifier), NUMBER(type), NUMBER(time)};

struct span {
	const char *at, *end;
};

/* Find the next word between blanks. Returns false if there are no more words. */
static bool next_piece(struct span *rest, struct span *ret_piece)
{
	while (rest->at < rest->end && (*rest->at == ' ' || *rest->at == '\t'))
		rest->at++;
	ret_piece->at = rest->at;
	while (rest->at < rest->end && *rest->at != ' ' && *rest->at != '\t')
		rest->at++;
	ret_piece->end = rest->at;
	return ret_piece->at < ret_piece->end;
}

static bool is_word(struct span s, const char *word)
{
	return (size_t)(s.end - s.at) == strlen(word) && !memcmp(s.at, word, strlen(word));
}

static bool number_read(struct span s, uint64_t *ret_number)
{
	uint64_t number = 0;
	for (const char *at = s.at; at < s.end; at++) {
		uint64_t digit = (uint64_t)(uint8_t)*at - '0';
		if (digit > 9 || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return s.at < s.end;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Decode a byte of a value, which may be written as %XX; -1 = invalid. */
static int byte_read(struct span *s)
{
	char c = *s->at++;
	if (c != '%')
		return (uint8_t)c;
	int high = s->end - s->at > 1 ? hex_digit(s->at[0]) : -1,
	    low = high >= 0 ? hex_digit(s->at[1]) : -1;
	s->at += 2;
	return low >= 0 && high + low ? high * 16 + low : -1;
}

static int text_read(struct pool *pool, struct span s, const char **ret_text)
{
	size_t length = 0;
	int byte = 0;
	char *text = malloc((size_t)(s.end - s.at) + 1);
	if (!text)
		return -ENOMEM;
	while (s.at < s.end && (byte = byte_read(&s)) > 0)
		text[length++] = (char)byte;
	const char *kept = byte < 0 ? NULL : pool_text(pool, text, length);
	free(text);
	if (byte < 0)
		return -EBADMSG;
	*ret_text = kept;
	return kept ? 0 : -ENOMEM;
}

static int pair_read(struct nvtxt_note *n, struct pool *pool, struct span piece)
{
	const char *equals = memchr(piece.at, '=', (size_t)(piece.end - piece.at));
	if (!equals)
		return 0;
	struct span key = {piece.at, equals}, value = {equals + 1, piece.end};
	if (is_word(key, "domain"))
		return text_read(pool, value, &n->domain);
	if (is_word(key, "text"))
		return text_read(pool, value, &n->text);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (is_word(key, numbers[i].key)) {
			uint64_t *number = (uint64_t *)((char *)n + numbers[i].offset);
			n->has_level |= number == &n->level;
			n->has_start_thread |= number == &n->start_thread;
			return number_read(value, number) ? 0 : -EBADMSG;
		}
	return 0;
}

int nvtxt_note_read(
	struct nvtxt_note *ret_note, struct pool *pool, const char *comment, size_t bytes)
{
	static const char *const words[] = {"", "file", "event", "name", "skip"};
	const size_t prefix = sizeof(PREFIX) - 1;
	struct span rest = {comment + prefix, comment + bytes}, piece;
	*ret_note = (struct nvtxt_note){0};
	if (bytes < prefix || memcmp(comment, PREFIX, prefix) || !next_piece(&rest, &piece))
		return 0;
	for (unsigned i = NVTXT_NOTE_FILE; i <= NVTXT_NOTE_SKIP; i++)
		if (is_word(piece, words[i]))
			ret_note->word = (enum nvtxt_note_word)i;
	int error = 0;
	while (ret_note->word && !error && next_piece(&rest, &piece))
		error = pair_read(ret_note, pool, piece);
	return error ? error : ret_note->word != NVTXT_NOTE_NONE;
}

void nvtxt_note_number(FILE *out, const char *key, uint64_t number)
{
	fprintf(out, " %s=%" PRIu64, key, number);
}

void nvtxt_note_text(FILE *out, const char *key, const char *text, size_t bytes)
{
	fprintf(out, " %s=", key);
	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = (uint8_t)text[i];
		if (!byte)
			continue; /* readers reject %00 */
		if (byte <= ' ' || byte == '%' || byte == 0x7f)
			fprintf(out, "%%%02X", byte);
		else
			putc_unlocked(byte, out);
	}
}
