/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_all_functions.c - wildcards, and the join of --functions and --functions-file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(void)
{
	test_wildcards();
	test_exclusions();
	test_kinds();
	test_join();
	return tap_done();
}
