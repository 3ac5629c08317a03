/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_codexl.c - tests of the parser of CodeXL files: numbers, handles and sizes of a line,
 * and sections in an unusual order.
 */
#include <string.h>

#include "reader/codexl/read.h"
#include "reader/codexl/words.h"
#include "tests/unit/tap.h"

static struct codexl_word word(const char *text)
{
	return (struct codexl_word){text, strlen(text)};
}

static void numbers(void)
{
	uint64_t n;
	check(codexl_number(word("18446744073709551615"), UINT64_MAX, &n) && n == UINT64_MAX,
		"the greatest number is parsed");
	check(!codexl_number(word("18446744073709551616"), UINT64_MAX, &n) &&
			!codexl_number(word("11"), 10, &n) && !codexl_number(word(""), 10, &n) &&
			!codexl_number(word("-1"), 10, &n) && !codexl_number(word("0x1"), 10, &n),
		"too large, empty, negative and non-decimal numbers are refused");
	check(codexl_handle(word("0xFfFFffFFffFFffFF"), &n) && n == UINT64_MAX,
		"the greatest handle is parsed");
	check(codexl_handle(word("NULL"), &n) && !n, "the handle NULL is 0");
	check(!codexl_handle(word("0x"), &n) && !codexl_handle(word("0x10000000000000000"), &n) &&
			!codexl_handle(word("12"), &n) && !codexl_handle(word("0xg"), &n),
		"text that is not a handle is refused");
}

static void sizes(void)
{
	struct codexl_sizes s;
	codexl_sizes(word("{100,2}"), word("{32,2}"), &s);
	check(s.grid[0] == 4 && s.grid[1] == 1 && s.grid[2] == 1 && s.block[0] == 32 &&
			s.block[1] == 2 && s.block[2] == 1,
		"the number of groups is rounded up, a missing size is 1");
	codexl_sizes(word("{100}"), word("{NULL}"), &s);
	check(!s.grid[0] && !s.block[0], "a size of NULL is 0");
	codexl_sizes(word("{1,2,3,4}"), word("{1}"), &s);
	check(!s.grid[0], "four sizes are refused");
	codexl_sizes(word("{8}"), word("{0}"), &s);
	check(!s.grid[0], "a size of 0 is refused");
}

static int lines(struct codexl_file *f, const char *text)
{
	int error = 0;
	while (!error && *text) {
		size_t bytes = strcspn(text, "\n");
		error = codexl_file_line(f, text, bytes);
		text += bytes + (text[bytes] == '\n');
	}
	return error ? error : codexl_file_end(f);
}

static void any_order(void)
{
	struct pool pool = {0};
	struct codexl_file f;
	codexl_file_init(&f, CODEXL_TIMELINE, &pool);
	int error = lines(&f,
		"TraceFileVersion=3.2\r\n=====CodeXL hsa Timestamp Output=====\r\n7\r\n1\r\n"
		"-1 a 5 6\r\n8\r\n1\r\n2 b 7 9\r\n=====hsa API Trace Output=====\r\n8\r\n2\r\n"
		"1 = b ( x )\r\nc (  )\r\n7\r\n1\r\n2 = a ( f() ) /* ) */\r\n");
	check(!error && f.calls.count == 3, "times may come before calls, with CR LF line ends");
	check(!error && f.calls.rows[0].type == -1 && !strcmp(f.calls.rows[0].arguments, "f()") &&
			!strcmp(f.calls.rows[0].result, "2") && f.lost.comments == 1,
		"a call has its times, and its arguments end at the last parenthesis");
	check(!error && f.calls.rows[2].parts == CODEXL_HAS_CALL && f.calls.rows[2].tid == 8,
		"a call without times is kept without times");
	codexl_file_release(&f);
	pool_release(&pool);
}

int main(void)
{
	numbers();
	sizes();
	any_order();
	return tap_done();
}
