/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_words.c - SQL functions for the words that were kept of calls of library functions.
 */
#include "reader/sql/call_words.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "common/schema/prototype.h"

/* Read the prototype. Return the number of words that both it and the call have. */
static uint32_t prototype_take(
	sqlite3_value *arguments, sqlite3_value *words, struct prototype *ret_prototype)
{
	const char *text = (const char *)sqlite3_value_text(arguments);
	int64_t count = sqlite3_value_int64(words);
	if (!text || count < 0 || !prototype_read(text, text + strlen(text), ret_prototype))
		return 0;
	return count < ret_prototype->count ? (uint32_t)count : ret_prototype->count;
}

static void call_word(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct prototype p;
	const char *name = (const char *)sqlite3_value_text(values[1]);
	uint32_t words = name ? prototype_take(values[0], values[2], &p) : 0;
	(void)count;
	for (uint32_t i = 0; i < words; i++)
		if (!strncmp(p.words[i].name, name, p.words[i].name_bytes) &&
			!name[p.words[i].name_bytes]) {
			sqlite3_result_value(context, values[3 + i]);
			return;
		}
}

static void text_return(sqlite3_context *context, sqlite3_str *text)
{
	int bytes = sqlite3_str_length(text);
	char *result = sqlite3_str_finish(text);
	if (result)
		sqlite3_result_text(context, result, bytes, sqlite3_free);
	else
		sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

static void call_words(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct prototype p;
	sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
	uint32_t words = prototype_take(values[0], values[1], &p);
	(void)count;
	for (uint32_t i = 0; i < words; i++) {
		const struct prototype_word *w = &p.words[i];
		int64_t value = sqlite3_value_int64(values[2 + i]);
		if (w->type == WORD_POINTER)
			continue;
		sqlite3_str_appendf(text, "%s%.*s=", sqlite3_str_length(text) ? ", " : "",
			(int)w->name_bytes, w->name);
		sqlite3_str_appendf(text,
			word_is_hex(w->type)              ? "0x%llx"
				: word_is_signed(w->type) ? "%lld"
							  : "%llu",
			value);
	}
	text_return(context, text);
}

/* Values without names, as CodeXL writes them: `command` is not an argument of the program. */
static void call_values(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct prototype p;
	sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
	uint32_t words = prototype_take(values[0], values[1], &p);
	(void)count;
	for (uint32_t i = 0; i < words; i++) {
		const struct prototype_word *w = &p.words[i];
		int64_t value = sqlite3_value_int64(values[2 + i]);
		if (w->name_bytes == 7 && !strncmp(w->name, "command", 7))
			continue;
		sqlite3_str_appendall(text, sqlite3_str_length(text) ? ";" : "");
		if (w->type == WORD_POINTER && !value)
			sqlite3_str_appendall(text, "NULL");
		else
			sqlite3_str_appendf(text,
				word_is_hex(w->type)              ? "0x%llX"
					: word_is_signed(w->type) ? "%lld"
								  : "%llu",
				value);
	}
	text_return(context, text);
}

int call_words_add(struct sql *s)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	int code = sqlite3_create_function(s->connection, "call_word", 3 + (int)PROTOTYPE_WORDS_MAX,
		flags, NULL, call_word, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function(s->connection, "call_words",
			2 + (int)PROTOTYPE_WORDS_MAX, flags, NULL, call_words, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function(s->connection, "call_values",
			2 + (int)PROTOTYPE_WORDS_MAX, flags, NULL, call_values, NULL, NULL);
	return code == SQLITE_OK ? 0 : -ENOMEM;
}

#else

int call_words_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
