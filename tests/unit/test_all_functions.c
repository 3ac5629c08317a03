/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_all_functions.c - wildcards, and the join of --functions and --functions-file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/schema/prototype.h"
#include "common/spool.h"
#include "common/text.h"
#include "reader/cli/record/functions.h"
#include "tests/unit/tap.h"
#include "tracer/functions/functions.h"

static bool matches(const char *text, const char *pattern)
{
	return text_matches(text, pattern, pattern + strlen(pattern));
}

static void test_wildcards(void)
{
	check(matches("libz.so.1", "libz.so*") && matches("", "*") && matches("", "") &&
			matches("deflate", "*fl*te") && matches("abab", "*ab") &&
			matches("abc", "a?c"),
		"texts that match");
	check(!matches("libz.so.1", "libz.so") && !matches("a", "") && !matches("", "?") &&
			!matches("abac", "*ab") && !matches("xabc", "a*"),
		"texts that do not match");
	check(text_matches("ab", "ab:c", &"ab:c"[2]), "the pattern ends before its terminator");
}

static void test_exclusions(void)
{
	check(function_is_excluded("__sigsetjmp") && function_is_excluded("_Unwind_Resume") &&
			function_is_excluded("__tls_get_addr") && function_is_excluded("vfork") &&
			function_is_excluded("_ZGVbN2v_sin") && function_is_excluded("dlsym"),
		"functions that are never recorded");
	check(!function_is_excluded("deflate") && !function_is_excluded("_ZN3fooEv"),
		"functions that may be");
	check(function_library_is_excluded("/lib/x86_64-linux-gnu/libc.so.6") &&
			function_library_is_excluded("/lib64/ld-linux-x86-64.so.2") &&
			function_library_is_excluded("libtrace.so") &&
			function_library_is_excluded("/usr/lib/libasan.so.8"),
		"libraries whose functions are never recorded");
	check(!function_library_is_excluded("/lib/libz.so.1") &&
			!function_library_is_excluded("libcrypto.so.3"),
		"libraries whose functions may be");
}

static void test_kinds(void)
{
	check(record_kind_of(REC_FUNCTION + 7) == REC_FUNCTION &&
			record_kind_of(REC_FUNCTION + FUNCTION_LEVEL_MAX) == REC_FUNCTION &&
			record_kind_of(REC_FUNCTION + FUNCTION_LEVEL_MAX + 1) != REC_FUNCTION &&
			record_kind_of(REC_PAD) == REC_PAD && record_kind_of(3) == 3,
		"the level is a part of a call's kind");
}

static void test_join(void)
{
	char path[] = "/tmp/test_functions.XXXXXX", *list = NULL;
	static const char text[] = "# all of it\nlibz.so*:* # zlib\n\n liba.so:b,libc1.so:d\r\n";
	int fd = mkstemp(path);
	check(fd >= 0 && write(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1,
		"a file of patterns");
	check(functions_join("x:y", path, &list) == 0 && list &&
			!strcmp(list, "x:y,libz.so*:*,liba.so:b,libc1.so:d"),
		"patterns of the option and of the file, without comments");
	free(list);
	check(functions_join(NULL, NULL, &list) == 0 && !list, "none");
	check(functions_join("deflate", NULL, &list) == -EINVAL && !list, "not a pattern");
	check(functions_join(":a", NULL, &list) == -EINVAL && !list, "no library");
	check(functions_join(NULL, "/nonexistent/list", &list) == -ENOENT && !list, "no file");
	close(fd);
	unlink(path);
}

static bool reads(const char *text, struct prototype *p)
{
	return prototype_read(text, text + strlen(text), p);
}

static uint64_t value_of(uint64_t word, uint32_t type)
{
	return word_value(word, word_mask(type), word_sign(type));
}

static void test_prototypes(void)
{
	struct prototype p;
	check(reads("id, _, int m,ulong  bytes ,_", &p) && p.count == 3, "words that are kept");
	check(p.words[0].index == 0 && p.words[0].type == WORD_PLAIN && p.words[0].name_bytes == 2,
		"a plain word");
	check(p.words[1].index == 2 && p.words[1].type == WORD_INT &&
			!strncmp(p.words[1].name, "m", p.words[1].name_bytes),
		"a word with a type");
	check(p.words[2].index == 3 && p.words[2].type == WORD_ULONG && p.words[2].name_bytes == 5,
		"blanks");
	check(reads("_", &p) && p.count == 0, "no word");
	check(!reads("", &p) && !reads("a,", &p) && !reads("a b", &p) && reads("int", &p),
		"a name of its own may be that of a type; an argument has a name");
	check(!reads("double x", &p) && !reads("a;b", &p) && !reads("1a", &p) &&
			!reads("int m n", &p),
		"not prototypes");
	check(!reads("a,b,c,d,e,f,g,h,i", &p) && reads("_,a,b,c,d,e,f,g,h,_", &p) &&
			p.words[7].index == 8,
		"at most eight words");
	check(!reads("_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_,_", &p),
		"at most thirty arguments");
	check(value_of(0xabcdefffffffff, WORD_INT) == UINT64_MAX &&
			value_of(0xabcd7fffffff, WORD_INT) == INT32_MAX &&
			value_of(0xabcdefffffffff, WORD_UINT) == UINT32_MAX &&
			value_of(UINT64_MAX, WORD_PLAIN) == UINT64_MAX,
		"the upper half of a 32-bit argument is not a part of it");
}

static void test_join_prototypes(void)
{
	char *list = NULL;
	check(functions_join("a:f(x, int y),b:g (_,z) ,c:h", NULL, &list) == 0 && list &&
			!strcmp(list, "a:f(x, int y),b:g(_,z),c:h"),
		"commas and blanks of prototypes");
	free(list);
	check(functions_join("a:f(x", NULL, &list) == -EINVAL && !list, "no end");
	check(functions_join("a:(x)", NULL, &list) == -EINVAL && !list, "no function");
	check(functions_join("a:f(double x)", NULL, &list) == -EINVAL && !list, "not a type");
	check(functions_join("a:f(x)y", NULL, &list) == -EINVAL && !list,
		"something after the prototype");
}

int main(void)
{
	test_wildcards();
	test_exclusions();
	test_kinds();
	test_join();
	test_prototypes();
	test_join_prototypes();
	return tap_done();
}
