/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - names in texts. */
#include "reader/base/words.h"

#include <ctype.h>
#include <string.h>

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool words_have(const char *text, const char *word)
{
	const size_t bytes = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += bytes)
		if ((at == text || !is_part(at[-1])) && !is_part(at[bytes]))
			return true;
	return false;
}
