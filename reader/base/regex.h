/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - regular expressions with named groups, matched in time that is proportional to the
 * text.
 *
 * Patterns may come from a file of somebody else, so nothing here backtracks: the search follows
 * all alternatives at once, at most REGEX_INSTRUCTIONS_MAX steps a byte. Syntax, of Perl and
 * Python: . [a-z] [^a-z] \d \w \s \D \W \S \b \B \t \n \r, * + ? {m} {m,} {m,n} and with ? behind
 * the shortest match, |, (...), (?:...), (?<name>...) or (?P<name>...), ^ and $ at the ends of the
 * text, (?i) at the start, and (?#label), which names the alternative that it is in. No
 * backreferences, no lookaround. The leftmost match counts. Texts are bytes; classes hold ASCII.
 */
#ifndef READER_BASE_REGEX_H
#define READER_BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_GROUPS_MAX 16u /* groups with a name, and labels */
#define REGEX_INSTRUCTIONS_MAX 500u
#define REGEX_TEXT_MAX 4096u /* bytes of a text; the others are not looked at */

struct regex;

/* Where a named group matched. */
struct regex_group {
	uint32_t begin, end; /* begin > end: it has no part in the match */
};

struct regex_match {
	struct regex_group groups[REGEX_GROUPS_MAX]; /* in the order of regex_group_name() */
	const char *label; /* of the alternative that matched; NULL = it has none */
	uint32_t label_bytes;
};

/* Compile a pattern, which must live as long as the result. Returns NULL with the cause, a constant
 * text, if it is not valid, is too large, or there is no memory. */
struct regex *regex_compile(const char *pattern, const char **ret_cause);

/* Free what regex_compile() returned; NULL is permitted. */
void regex_free(struct regex *r);

/* Return the number of named groups. Two groups may have the same name. */
uint32_t regex_group_count(const struct regex *r);

/* Return the name of a group, and its length; it is part of the pattern. */
const char *regex_group_name(const struct regex *r, uint32_t group, uint32_t *ret_bytes);

/* Return true if the pattern matches a part of the text. One thread per regex. */
bool regex_search(struct regex *r, const char *text, size_t bytes, struct regex_match *ret_match);

#endif
