/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_nvtxt.c - tests of NVTXT: tokens, lines and values of the language, each error with
 * its position, and the resulting events.
 *
 * The same texts were given to NVIDIA's importer (2023.4.4); docs/nvtxt.md lists its results.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/nvtxt/parse.h"
#include "reader/nvtxt/resolve.h"
#include "tap.h"

struct parsed {
	struct pool pool;
	struct nvtxt_file file;
	char problems[4000]; /* "line:column kind text; " */
};

static void note_problem(void *user, const struct nvtxt_problem *p)
{
	static const char *const kinds[] = {
		"lexing", "parsing", "range", "warning", "refused", "ignored"};
	struct parsed *n = user;
	size_t at = strlen(n->problems);
	snprintf(n->problems + at, sizeof(n->problems) - at, "%s%u:%u %s %s", at ? "; " : "",
		p->line, p->column, kinds[p->kind], p->text);
}

static void parse(struct parsed *n, const char *text)
{
	const char *end;
	*n = (struct parsed){0};
	if (nvtxt_file_init(&n->file, &n->pool))
		abort();
	n->file.problem = note_problem;
	n->file.user = n;
	for (; *text; text = *end ? end + 1 : end) {
		end = strchr(text, '\n');
		end = end ? end : text + strlen(text);
		if (nvtxt_file_line(&n->file, text, (size_t)(end - text)))
			abort();
	}
}

static void parse_done(struct parsed *n)
{
	nvtxt_file_release(&n->file);
	pool_release(&n->pool);
}

/* ---- errors and their positions ---- */

#define HEAD "TimeBase = Manual\n@Marker, Time, Message\n"

static const struct {
	const char *promise, *text, *problems;
	uint32_t events;
} sentences[] = {
	{"an empty file has no events and no errors", "", "", 0},
	{"comments, blanks, CR LF and a byte order mark are no events",
		"\xef\xbb\xbf  # a\n\n \t\r\nTimeBase = Manual # b\r\n", "", 0},
	{"names keep letters, digits, _ and -", HEAD "Marker, 1, _a-9", "", 1},
	{"both quotes, and the other one inside",
		HEAD "Marker, 1, \"it's\"\nMarker, 2, 'a \"b\" #, $x'", "", 2},
	{"a backslash keeps the string open", HEAD "Marker, 1, \"a\\\"b\"", "", 1},
	{"a comma may end the line", HEAD "Marker, 1, a, # more", "", 1},
	{"hexadecimal and negative numbers",
		"TimeBase = Manual\n@Marker, Time, Payload\nMarker, 0X1f, -9223372036854775808", "",
		1},
	/* lexing */
	{"a string needs its end", HEAD "Marker, 1, \"abc\nMarker, 2, b",
		"3:12 lexing unterminated string", 1},
	{"a string cannot end in a backslash", HEAD "Marker, 1, \"a\\\\\"",
		"3:12 lexing unterminated string", 0},
	{"a number ends where it ends", HEAD "Marker, 12ab, b", "3:9 lexing not a number", 0},
	{"no fractions", HEAD "Marker, 1.5, b", "3:9 lexing not a number", 0},
	{"no sign but -", HEAD "Marker, +1, b", "3:9 lexing unexpected character outside a string",
		0},
	{"no negative hexadecimal numbers", HEAD "Marker, -0x1, b", "3:9 lexing not a number", 0},
	{"0x alone is no number", HEAD "Marker, 0x, b", "3:9 lexing not a number", 0},
	{"numbers have 63 bits", HEAD "Marker, 9223372036854775808, b",
		"3:9 lexing number exceeds 63 bits", 0},
	{"hexadecimal ones, too", HEAD "Marker, 0x8000000000000000, b",
		"3:9 lexing number exceeds 63 bits", 0},
	{"no other characters", HEAD "Marker, 1, a.b",
		"3:13 lexing unexpected character outside a string", 0},
	{"nor bytes above 127", HEAD "Marker, 1, \xc3\xa9",
		"3:12 lexing unexpected character outside a string", 0},
	{"a variable must have been assigned", HEAD "Marker, 1, $Foo",
		"3:12 lexing variable 'Foo' is not assigned", 0},
	{"an argument that a call gave is no variable", HEAD "Marker, 1, a\nMarker, 2, $Message",
		"4:12 lexing variable 'Message' is not assigned", 1},
	{"a name directly follows $", HEAD "Marker, 1, $ Message",
		"3:12 lexing expected a name after $", 0},
	{"and @", "@ Marker, Time", "1:1 lexing expected a name after @", 0},
	{"no expansion within a word", "Message = a\n" HEAD "Marker, 1, x$Message",
		"4:13 parsing expected a comma between values", 0},
	/* parsing */
	{"a line begins with a name", "5, 6",
		"1:1 parsing expected a name or @ at the start of a line", 0},
	{"a name is followed by , or =", HEAD "Marker 1, a",
		"3:8 parsing expected a comma or = after the name", 0},
	{"values are separated by commas", HEAD "Marker, 1, a b",
		"3:14 parsing expected a comma between values", 0},
	{"no value is empty", HEAD "Marker, 1,, a", "3:11 parsing missing value", 0},
	{"an assignment has a value", "Color =", "1:8 parsing missing value", 0},
	{"and only one", "Color = Red, Blue", "1:12 parsing an assignment takes one value", 0},
	{"a definition has arguments", "@Marker",
		"1:8 parsing a definition must list at least one argument", 0},
	{"which are names", "@Marker, Time, 5",
		"1:16 parsing expected a name: a definition lists names", 0},
	{"a call has as many values as the definition", HEAD "Marker, 1",
		"3:1 parsing 1 values; the definition in line 2 has 2 arguments", 0},
	{"fixed commands, too", "NameProcess, 5",
		"1:1 parsing 1 values; NameProcess has 2 arguments", 0},
	{"a command that needs a definition has one", "TimeBase = Manual\nMarker, 1",
		"2:1 parsing Marker is not defined: a line '@Marker, ...' must precede it", 0},
	{"a command is known or defined", "Foo, 1", "1:1 parsing unknown command", 0},
	{"a number is a number", HEAD "Marker, \"1\", a", "3:9 parsing Time: expected a number", 0},
	{"a text is a text", HEAD "Marker, 1, 17", "3:12 parsing Message: expected a text", 0},
	{"the time base is set", "@Marker, Time\nMarker, 1", "2:1 parsing TimeBase is not set", 0},
	{"an unknown argument is reported, and its values are ignored",
		"TimeBase = Manual\n@Marker, Time, Foo\nMarker, 1, 2",
		"2:16 warning unknown argument 'Foo': its values are ignored; "
		"3:12 refused value of an unknown argument",
		1},
	{"calls of an unknown command are ignored if it was defined",
		"@Foo, Time\nFoo, 1\nRangeStart, 1",
		"2:1 warning unknown command: ignored; "
		"3:1 warning unknown command: ignored",
		0},
	/* ranges of values */
	{"no time is negative", HEAD "Marker, -1, a", "3:9 range Time: it must not be negative", 0},
	{"threads have 24 bits", "ThreadId = 16777216\n" HEAD "Marker, 1, a",
		"1:12 refused value of ThreadId: it exceeds 16777215; "
		"4:1 range ThreadId, as assigned: it exceeds 16777215",
		0},
	{"processes, too",
		HEAD "@Marker, Time, ProcessId\nMarker, 1, 16777216\nMarker, 1, 16777215",
		"4:12 range ProcessId: it exceeds 16777215", 1},
	{"categories have 32 bits", HEAD "@Marker, Time, CategoryId\nMarker, 1, 4294967296",
		"4:12 range CategoryId: it exceeds 4294967295", 0},
	{"a range ends after its start",
		"@RangeStartEnd, Start, End\nTimeBase = Manual\nRangeStartEnd, 6, 5",
		"3:1 range the range ends before it starts", 0},
	{"an unknown color is reported", HEAD "Color = Grey\nMarker, 1, a",
		"4:1 warning unknown color", 1},
	{"a missing time is 0", HEAD "@Marker, Message\nMarker, a",
		"4:1 warning Time is missing: using 0", 1},
	/* input that NVIDIA's importer refuses */
	{"variables of any name", "my_text = \"t\"\n" HEAD "Marker, 1, $my_text",
		"1:1 refused variable 'my_text' is not an argument", 1},
	{"a value that no call uses may be of any type", "Time = abc\nColor = Red",
		"1:8 refused value of Time: expected a number", 0},
	{"RangeStartEnd has arguments from the start",
		"RangeStartEnd, 1, 5, Manual, 7, 8, 1, Red, m, 3",
		"1:1 refused RangeStartEnd without a definition", 1},
	{"NameCategory", "NameCategory, 1, \"c\"",
		"1:1 refused NameCategory without a definition; 1:1 ignored NameCategory", 1},
	{"names in another order",
		"@NameProcess, Name, ProcessId\nNameProcess, \"p\", 5\nNameProcess, 5, \"p\"",
		"2:1 refused NameProcess with arguments of its own", 2},
	{"a time base of another clock", "TimeBase = Qpc\n@Marker, Time\nMarker, 1",
		"1:12 refused value of TimeBase: unknown time base", 1},
	{"a range without length",
		"@RangeStartEnd, Start, End\nTimeBase = Manual\nRangeStartEnd, 5, 5",
		"3:1 ignored range without length", 1},
};

static void each_error_has_its_position(void)
{
	struct parsed n;
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		parse(&n, sentences[i].text);
		check(!strcmp(n.problems, sentences[i].problems) &&
				n.file.count == sentences[i].events,
			"%s: wanted %u events and [%s], got %u and [%s]", sentences[i].promise,
			sentences[i].events, sentences[i].problems, n.file.count, n.problems);
		parse_done(&n);
	}
}

/* ---- events ---- */

static const struct nvtxt_clock plain_clock = {.session_start_ns = 1000000};

/* "kind start end process/thread level color text; " */
static const char *events_of(struct parsed *n, const struct nvtxt_clock *clock)
{
	static char text[4000];
	size_t at = 0;
	text[0] = 0;
	if (nvtxt_resolve(&n->file, clock))
		abort();
	for (uint32_t i = 0; i < n->file.count; i++) {
		const struct nvtxt_event *e = &n->file.events[i];
		if (e->kind == NVTXT_EVENT_NONE)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			"%s%c %" PRId64 " %" PRId64 " %u/%u %u %x %s%s", at ? "; " : "",
			"-mp?rn"[e->kind], e -> start, e -> end, e -> process, e -> thread,
			e -> level, e -> color, e -> text ? e -> text : "",
			e->flags ? " unfinished" : "");
	}
	return text;
}

static const struct {
	const char *promise, *text, *events, *problems;
} stories[] = {
	{"a value given in a call stays in force",
		"TimeBase = Manual\n@Marker, Time, Color, Message\n@RangeStartEnd, Start, End\n"
		"Marker, 5, Red, m\nRangeStartEnd, 6, 9\nColor = Blue\nRangeStartEnd, 7, 9",
		"m 5 5 0/0 0 ffff0000 m; r 6 9 0/0 0 ffff0000 m; r 7 9 0/0 0 ff0000ff m", ""},
	{"but not that of a call with an error",
		"TimeBase = Manual\n@Marker, Time, Color, Message\nColor = Blue\nMarker, 5, Red, "
		"1\n@Marker, Time\nMarker, 6",
		"m 6 6 0/0 0 ff0000ff ", "4:17 parsing Message: expected a text"},
	{"nor that of a name",
		"TimeBase = Manual\n@Marker, Time\nNameOsThread, 77, 78, t\nMarker, 5",
		"n 1000000 1000000 77/78 0 0 t; m 5 5 0/0 0 0 ", ""},
	{"a command may be defined again",
		"TimeBase = Manual\n@Marker, Time, Message\nMarker, 1, a\n@Marker, Message, "
		"Time\nMarker, b, 2",
		"m 1 1 0/0 0 0 a; m 2 2 0/0 0 0 b", ""},
	{"the last of two equal arguments counts",
		"TimeBase = Manual\n@Marker, Time, Time\nMarker, 5, 6", "m 6 6 0/0 0 0 ", ""},
	{"colors: words, ARGB, and numbers that are too large",
		"TimeBase = Manual\n@Marker, Time, Color\nMarker, 1, DarkSeaGreen\nMarker, 2, "
		"\"Blue\"\nMarker, 3, 0x00FF00\nMarker, 4, 0x1FFFFFFFF\nMarker, 5, -1",
		"m 1 1 0/0 0 ff8fbc8f ; m 2 2 0/0 0 ff0000ff ; m 3 3 0/0 0 ff00 ; m 4 4 0/0 0 "
		"ffffffff ; m 5 5 0/0 0 ffffffff ",
		""},
	{"a variable may name a command",
		"TimeBase = Manual\nMessage = Marker\n@Marker, Time\n$Message, 5",
		"m 5 5 0/0 0 0 Marker", ""},
	{"pops go by the order of lines, for each thread",
		"TimeBase = Manual\n@RangePush, Time, ThreadId, Message\n@RangePop, Time, "
		"ThreadId\n"
		"RangePush, 100, 1, a\nRangePush, 50, 2, b\nRangePush, 120, 1, c\nRangePop, 130, "
		"1\n"
		"RangePop, 90, 2\nRangePop, 200, 1\nRangePush, 20, 1, d\nRangePop, 30, 1",
		"p 100 200 0/1 0 0 a; p 50 90 0/2 0 0 b; p 120 130 0/1 1 0 c; p 20 30 0/1 0 0 d",
		""},
	{"a pop has no push",
		"TimeBase = Manual\n@RangePush, Time\n@RangePop, Time\nRangePop, 5\nRangePush, "
		"6\nRangePop, 6\nRangePop, 7",
		"p 6 6 0/0 0 0 ",
		"4:1 warning pop without a preceding push: ignored; 7:1 warning pop without a "
		"preceding push: ignored"},
	{"a pop before its push: the range is left out, others nest as they did",
		"TimeBase = Manual\n@RangePush, Time, Message\n@RangePop, Time\nRangePush, 5, "
		"a\nRangePush, 7, b\nRangePop, 6\nRangePop, 9",
		"p 5 9 0/0 0 0 a", "6:1 range the range pushed in line 5 ends before it starts"},
	{"a push without a pop reaches to the last event",
		"TimeBase = Manual\n@RangePush, Time, Message\n@Marker, Time\nRangePush, 5, "
		"a\nRangePush, 6, b\nMarker, 80",
		"p 5 80 0/0 0 0 a unfinished; p 6 80 0/0 1 0 b unfinished; m 80 80 0/0 0 0 b", ""},
	{"Relative counts from the start of the session",
		"@Marker, TimeBase, Time\nMarker, Manual, 5\nMarker, Relative, 6",
		"m 5 5 0/0 0 0 ; m 1000006 1000006 0/0 0 0 ", ""},
	{"ticks need a meaning, which is asked for once",
		"TimeBase = Qpc\n@Marker, Time\nMarker, 5\nMarker, 6\nTimeBase = Manual\nMarker, 7",
		"m 7 7 0/0 0 0 ",
		"1:12 refused value of TimeBase: unknown time base; "
		"3:1 range time base Qpc: use --mode to define its ticks"},
	{"a time beyond what a report holds",
		"TimeBase = Relative\n@Marker, Time\nMarker, 9223372036854775807\nMarker, 1",
		"m 1000001 1000001 0/0 0 0 ", "3:1 range the time is out of the range of a report"},
	{"a file that trace export wrote: names, domains, payloads, levels",
		"# libtrace: file origin=1000\nTimeBase = Manual\n@RangePush, Time, Message, "
		"Payload\n@RangePop, Time\n"
		"RangePush, 5, \"my domain:t\", 3 # libtrace: event domain=my%20domain level=3 "
		"payload_type=3 payload=4607182418800017408\n"
		"RangePop, 9\nNameOsThread, 1, 2, x # libtrace: skip\n"
		"# libtrace: name time=7 process=1 thread=2 what=3 identifier=9 domain=d "
		"text=a%22b",
		"p 1005 1009 0/0 3 0 t; n 1007 1007 1/2 0 0 a\"b", ""},
	{"a comment of libtrace that is broken",
		"TimeBase = Manual\n@Marker, Time\nMarker, 1 # libtrace: event level=x\nMarker, 2 "
		"# libtrace: event text=%0",
		"m 1 1 0/0 0 0 ; m 2 2 0/0 0 0 ",
		"3:11 warning libtrace comment with an invalid value: ignored; "
		"4:11 warning libtrace comment with an invalid value: ignored"},
};

static void events_are_what_the_file_says(void)
{
	struct parsed n;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		parse(&n, stories[i].text);
		const char *events = events_of(&n, &plain_clock);
		check(!strcmp(events, stories[i].events) &&
				!strcmp(n.problems, stories[i].problems),
			"%s: wanted [%s] [%s], got [%s] [%s]", stories[i].promise,
			stories[i].events, stories[i].problems, events, n.problems);
		parse_done(&n);
	}
}

/* ---- clocks ---- */

#define TICKS "TimeBase = CNTVCT\n@Marker, Time\nMarker, 1000\nMarker, 1001\nMarker, 3000"

static const struct {
	const char *promise, *text, *events;
	struct nvtxt_clock clock;
} clocks[] = {
	{"lerp: from the least to the greatest time", TICKS,
		"m 50 50 0/0 0 0 ; m 50 50 0/0 0 0 ; m 950 950 0/0 0 0 ",
		{.scale = NVTXT_LERP, .ns_a = 50, .ns_b = 950}},
	{"lerp: between two given times, and beyond them", TICKS,
		"m 50 50 0/0 0 0 ; m 51 51 0/0 0 0 ; m 2050 2050 0/0 0 0 ",
		{.scale = NVTXT_LERP,
			.ns_a = 150,
			.ns_b = 250,
			.ticks_a = 1100,
			.ticks_b = 1200,
			.has_ticks_a = true,
			.has_ticks_b = true}},
	{"lin: by a rate, rounded down", TICKS,
		"m 500 500 0/0 0 0 ; m 533 533 0/0 0 0 ; m 67166 67166 0/0 0 0 ",
		{.scale = NVTXT_LIN, .ns_a = 500, .hertz = 30000000}},
	{"lin: times before the given one", TICKS,
		"m 466 466 0/0 0 0 ; m 500 500 0/0 0 0 ; m 67133 67133 0/0 0 0 ",
		{.scale = NVTXT_LIN,
			.ns_a = 500,
			.ticks_a = 1001,
			.has_ticks_a = true,
			.hertz = 30000000}},
	{"a scale holds for Manual, not for Relative",
		"@Marker, TimeBase, Time\nMarker, Manual, 5\nMarker, Relative, 6",
		"m 500 500 0/0 0 0 ; m 1006 1006 0/0 0 0 ",
		{.scale = NVTXT_LIN, .ns_a = 500, .hertz = 1, .session_start_ns = 1000}},
	{"lerp of a single time", "TimeBase = Manual\n@Marker, Time\nMarker, 5", "m 50 50 0/0 0 0 ",
		{.scale = NVTXT_LERP, .ns_a = 50, .ns_b = 950}},
	{"large numbers are exact",
		"TimeBase = Manual\n@Marker, Time\nMarker, 1795282427673742439\nMarker, "
		"1795282427673742440",
		"m 7 7 0/0 0 0 ; m 8 8 0/0 0 0 ",
		{.scale = NVTXT_LIN, .ns_a = 7, .hertz = 1000000000}},
	{"times that go below zero are left out",
		"TimeBase = Manual\n@Marker, Time\nMarker, 5\nMarker, 15", "m 0 0 0/0 0 0 ",
		{.scale = NVTXT_LIN,
			.ns_a = 5,
			.ticks_a = 20,
			.has_ticks_a = true,
			.hertz = 1000000000}},
};

static void times_are_converted(void)
{
	struct parsed n;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		parse(&n, clocks[i].text);
		const char *events = events_of(&n, &clocks[i].clock);
		check(!strcmp(events, clocks[i].events), "%s: wanted [%s], got [%s] [%s]",
			clocks[i].promise, clocks[i].events, events, n.problems);
		parse_done(&n);
	}
}

static void all_color_words_are_opaque(void)
{
	check(nvtxt_color("Lime") == 0xff00ff00 && nvtxt_color("Green") == 0xff008000 &&
			!nvtxt_color("green") && !nvtxt_color("Transparent"),
		"'Lime' is pure green and 'Green' half of it; color words are case-sensitive");
}

static void many_events_and_threads(void)
{
	struct parsed n;
	char line[80];
	bool good = true;
	parse(&n, "TimeBase = Manual\n@RangePush, Time, ThreadId\n@RangePop, Time, ThreadId");
	for (unsigned i = 0; i < 20000; i++) {
		int bytes = snprintf(line, sizeof(line), "RangePush, %u, %u", i, i % 5000);
		nvtxt_file_line(&n.file, line, (size_t)bytes);
	}
	for (unsigned i = 20000; i-- > 0;) {
		int bytes = snprintf(line, sizeof(line), "RangePop, %u, %u", 50000 - i, i % 5000);
		nvtxt_file_line(&n.file, line, (size_t)bytes);
	}
	if (nvtxt_resolve(&n.file, &plain_clock))
		abort();
	for (unsigned i = 0; i < 20000; i++)
		good &= n.file.events[i].level == i / 5000 && n.file.events[i].end == 50000 - i;
	check(good && !nvtxt_file_errors(&n.file),
		"each of 20,000 ranges of 5,000 threads finds its end");
	parse_done(&n);
}

int main(void)
{
	each_error_has_its_position();
	events_are_what_the_file_says();
	times_are_converted();
	all_color_words_are_opaque();
	many_events_and_threads();
	return tap_done();
}
