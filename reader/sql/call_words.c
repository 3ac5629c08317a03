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

/* How the words of a call are written. */
struct words_style {
	const char *between, *hex;
	bool has_names;
	bool has_pointers;   /* NULL for those that are 0 */
	const char *omitted; /* name of a word that is not written; NULL = none */
};
static const struct words_style with_names = {", ", "0x%llx", .has_names = true};
/* As CodeXL writes them: `command` is not an argument of the program. */
static const struct words_style values_only = {
	";", "0x%llX", .has_pointers = true, .omitted = "command"};

static bool is_written(const struct words_style *style, const struct prototype_word *w)
{
	return (style->has_pointers || w->type != WORD_POINTER) &&
		!(style->omitted && strlen(style->omitted) == w->name_bytes &&
			!strncmp(w->name, style->omitted, w->name_bytes));
}

static void call_words(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct words_style *style = sqlite3_user_data(context);
	struct prototype p;
	sqlite3_str *text = sqlite3_str_new(sqlite3_context_db_handle(context));
	uint32_t words = prototype_take(values[0], values[1], &p);
	(void)count;
	for (uint32_t i = 0; i < words; i++) {
		const struct prototype_word *w = &p.words[i];
		int64_t value = sqlite3_value_int64(values[2 + i]);
		if (!is_written(style, w))
			continue;
		sqlite3_str_appendall(text, sqlite3_str_length(text) ? style->between : "");
		if (style->has_names)
			sqlite3_str_appendf(text, "%.*s=", (int)w->name_bytes, w->name);
		if (w->type == WORD_POINTER && !value)
			sqlite3_str_appendall(text, "NULL");
		else
			sqlite3_str_appendf(text,
				word_is_hex(w->type)              ? style->hex
					: word_is_signed(w->type) ? "%lld"
								  : "%llu",
				value);
	}
	text_return(context, text);
}

int call_words_add(struct sql *s)
{
	static const struct {
		const char *name;
		int fixed; /* arguments before the words */
		void (*call)(sqlite3_context *, int, sqlite3_value **);
		const struct words_style *style;
	} functions[] = {{"call_word", 3, call_word, NULL},
		{"call_words", 2, call_words, &with_names},
		{"call_values", 2, call_words, &values_only}};
	int code = SQLITE_OK;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function(s->connection, functions[i].name,
			functions[i].fixed + (int)PROTOTYPE_WORDS_MAX,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
			(void *)(uintptr_t)functions[i].style, functions[i].call, NULL, NULL);
	return code == SQLITE_OK ? 0 : -ENOMEM;
}

#else

int call_words_add(struct sql *s)
{
	(void)s;
	return 0;
}

#endif
