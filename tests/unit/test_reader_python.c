/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_python.c - tests of the line numbers of Python instructions, from the three encodings
 * of line tables.
 */
#include <stdlib.h>
#include <string.h>

#include "common/python_lines.h"
#include "reader/symbols/python.h"
#include "tap.h"

static uint32_t line(const char *table, uint32_t bytes, uint32_t lines, uint32_t index)
{
	uint8_t *copy = malloc(bytes ? bytes : 1); /* so that a sanitizer sees reads beyond it */
	memcpy(copy, table, bytes);
	uint32_t found = python_line(copy, bytes, lines, 100, index + 1);
	free(copy);
	return found;
}

static bool place_is(const char *symbol, const char *module, const char *wanted)
{
	size_t bytes = 0;
	const char *place = python_place(symbol, module, &bytes);
	return wanted ? place && bytes == strlen(wanted) && !memcmp(place, wanted, bytes) : !place;
}

static void places(void)
{
	check(place_is("f (a.py:42)", "/home/me/a.py", "a.py:42") &&
			place_is("f.<locals>.<lambda> (a.py:1)", "a.py", "a.py:1") &&
			place_is("<module> (<string>:3)", "<string>", "<string>:3") &&
			place_is("f (a (1).py:7)", "/x/a (1).py", "a (1).py:7"),
		"the place of a Python frame");
	check(place_is("f (os.py:42)", "/usr/lib/python3.11/os.py", NULL) &&
			place_is("f (a.py)", "/home/me/a.py", NULL) &&
			place_is("f (a.py:)", "/home/me/a.py", NULL) &&
			place_is("f (b.py:4)", "/home/me/a.py", NULL) &&
			place_is("f(a.py:4)", "/home/me/a.py", NULL),
		"frames of libraries, without a line, or of other languages have none");
	check(place_is("", "", NULL) && place_is(")", "", NULL) && place_is("1)", "a", NULL) &&
			place_is(":1)", "", NULL) && place_is("(:1)", "", NULL) &&
			place_is("a:1)", "a", NULL) && place_is("(a:1)", "a", NULL),
		"texts that are too short have none");
}

int main(void)
{
	/* 4 bytes of line 100, 6 of 101, then 3 lines back */
	static const char lnotab[] = {4, 1, 6, (char)0xfd};
	check(line(lnotab, 4, PYTHON_LNOTAB, 1) == 100 &&
			line(lnotab, 4, PYTHON_LNOTAB, 2) == 101 &&
			line(lnotab, 4, PYTHON_LNOTAB, 5) == 98,
		"co_lnotab");
	/* 4 bytes of line 100, 2 of none, 4 of 102 */
	static const char linetable[] = {4, 0, 2, (char)0x80, 4, 2};
	check(line(linetable, 6, PYTHON_LINETABLE, 1) == 100 &&
			line(linetable, 6, PYTHON_LINETABLE, 2) == 0 &&
			line(linetable, 6, PYTHON_LINETABLE, 3) == 102 &&
			line(linetable, 6, PYTHON_LINETABLE, 9) == 0,
		"co_linetable of 3.10");
	/* short form, one unit; one line form + 2, two units; no columns, -5; none; long, +70 */
	static const char locations[] = {(char)0x80, 0x11, (char)0xe1, 1, 2, (char)0xe8, 11,
		(char)0xf8, (char)0xf0, 0x4c, 2, 1, 1, 1};
	check(line(locations, 14, PYTHON_LOCATIONS, 0) == 100 &&
			line(locations, 14, PYTHON_LOCATIONS, 2) == 102 &&
			line(locations, 14, PYTHON_LOCATIONS, 3) == 97 &&
			line(locations, 14, PYTHON_LOCATIONS, 4) == 0 &&
			line(locations, 14, PYTHON_LOCATIONS, 5) == 167,
		"co_linetable of 3.11");
	check(python_line((const uint8_t *)"", 0, PYTHON_LOCATIONS, 7, 0) == 7,
		"before the first instruction: the first line");
	check(line(locations, 14, 99, 0) == 0, "an unknown encoding has no lines");
	uint32_t seed = 1;
	for (uint32_t round = 0; round < 200000; round++) {
		char table[24];
		for (uint32_t i = 0; i < sizeof(table); i++)
			table[i] = (char)((seed = seed * 1664525u + 1013904223u) >> 24);
		line(table, seed >> 8 & 15, seed >> 16 & 3, seed >> 20);
	}
	check(true, "random tables are read within their bounds");
	check(python_file_is_library("/usr/lib/python3.11/os.py") &&
			python_file_is_library("/x/site-packages/a.py") &&
			python_file_is_library("<frozen importlib>") &&
			!python_file_is_library("/home/me/train.py") &&
			!python_file_is_library("<string>") && !python_file_is_library("") &&
			!python_file_is_library("/lib/pythonic/a.py"),
		"files of the library and of programs");
	places();
	return tap_done();
}
