/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_regex.c - regular expressions with named groups. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/regex.h"
#include "tests/unit/tap.h"

/* Write what a pattern finds: "label name=text name=text", "no" or the cause. */
static void found(const char *pattern, const char *text, char *ret, size_t bytes)
{
	struct regex_match m;
	const char *cause;
	struct regex *r = regex_compile(pattern, &cause);
	size_t at = 0;
	if (!r) {
		snprintf(ret, bytes, "%s", cause);
		return;
	}
	*ret = 0;
	if (!regex_search(r, text, strlen(text), &m)) {
		snprintf(ret, bytes, "no");
		regex_free(r);
		return;
	}
	at += (size_t)snprintf(ret, bytes, "%.*s", (int)m.label_bytes, m.label ? m.label : "");
	for (uint32_t i = 0; i < regex_group_count(r); i++) {
		uint32_t name_bytes;
		const char *name = regex_group_name(r, i, &name_bytes);
		if (m.groups[i].begin <= m.groups[i].end)
			at += (size_t)snprintf(ret + at, bytes - at, " %.*s=%.*s", (int)name_bytes,
				name, (int)(m.groups[i].end - m.groups[i].begin),
				text + m.groups[i].begin);
	}
	regex_free(r);
}

static const struct {
	const char *pattern, *text, *expected;
} rows[] = {
	{"loss=(?<loss>[0-9.]+)", "step 7 loss=0.25 ok", " loss=0.25"},
	{"(?P<n>\\d+)", "a12b34", " n=12"},
	{"(?<all>a*)", "aaab", " all=aaa"},
	{"(?<least>a+?)", "aaab", " least=a"},
	{"(?<a>a|ab)(?<c>c|bcd)(?<d>d*)", "abcd", " a=a c=bcd d="},
	{"^(?<w>\\w+)$", "one two", "no"},
	{"^(?<w>\\w+)$", "one_2", " w=one_2"},
	{"(?<x>x{2,3})y", "xxxxy", " x=xxx"},
	{"(?<x>(?:ab){2})", "ababab", " x=abab"},
	{"(?<x>a{2,})", "aaaa", " x=aaaa"},
	{"(?<x>a{0,2}?)b", "aab", " x=aa"},
	{"(?<x>a{,2})", "a{,2}", " x=a{,2}"},
	{"(?#epoch)epoch (?<n>\\d+)|(?#step)step (?<n>\\d+)", "step 5", "step n=5"},
	{"(?#epoch)epoch (?<n>\\d+)|(?#step)step (?<n>\\d+)", "epoch 6", "epoch n=6"},
	{"(?:x(?<n>\\d))+", "x1x2x3", " n=3"},
	{"(?i)error: (?<what>[a-z]+)", "ERROR: Disk", " what=Disk"},
	{"(?<v>[^\"]*)\"", "say \"", " v=say "},
	{"(?<v>[\\d.eE+-]+)", "x -1.5e-7", " v=-1.5e-7"},
	{"(?<v>[]a-]+)", "a-]", " v=a-]"},
	{"\\b(?<v>cat)\\b", "concat cat", " v=cat"},
	{"\\Bcat(?<v>.)", "cat1 concat2", " v=2"},
	{"(?<v>\\S+)\\s+(?<w>\\D)", "ab \t c", " v=ab w=c"},
	{"a.c", "a\nc", "no"},
	{"", "x", ""},
	{"(?<e>)x", "yx", " e="},
	{"(?:a*)*b(?<v>.)", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!", " v=!"},
	{"(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "no"},
	{"\xc3\xbc(?<v>.+)", "f\xc3\xbcr", " v=r"},
	{"\\.\\[\\((?<v>\\d)", ".[(7", " v=7"},
	{"(", "", "a group has no end"},
	{"a)", "", "a ) without a ("},
	{"[a", "", "a class has no end"},
	{"[z-a]", "", "a range of a class is not valid"},
	{"*", "", "nothing to repeat"},
	{"\\1", "", "unknown escape"},
	{"(?=a)", "", "unknown kind of group"},
	{"(?<>a)", "", "a name has no end, or is empty or longer than 64 bytes"},
	{"a{3,2}", "", "a count is larger than 255, or its ends are exchanged"},
	{"(?:(?:a{200}){200}){200}", "", "the pattern is too large"},
	{"(?:(?:(?:){255}){255}){255}", "", "the pattern is too large"},
	{"[\xc3\xbc]", "", "a class may hold ASCII only"},
};

static void deep(void)
{
	char pattern[4096];
	const char *cause;
	memset(pattern, '(', sizeof(pattern) - 1);
	pattern[sizeof(pattern) - 1] = 0;
	check(!regex_compile(pattern, &cause) && !strcmp(cause, "groups are nested too deeply"),
		"nested groups are bounded");
	for (size_t i = 0; i < sizeof(pattern) - 1; i++)
		pattern[i] = '|';
	check(!regex_compile(pattern, &cause), "alternatives are bounded");
}

static void many_names(void)
{
	char pattern[512] = "";
	const char *cause;
	for (int i = 0; i < 17; i++)
		snprintf(pattern + strlen(pattern), sizeof(pattern) - strlen(pattern), "(?<n%d>a)",
			i);
	check(!regex_compile(pattern, &cause) && !strcmp(cause, "more than 16 names"),
		"named groups are bounded");
}

int main(void)
{
	char text[256];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		found(rows[i].pattern, rows[i].text, text, sizeof(text));
		check(!strcmp(text, rows[i].expected), "%s in %s: '%s'", rows[i].pattern,
			"the text", text);
	}
	deep();
	many_names();
	return tap_done();
}
