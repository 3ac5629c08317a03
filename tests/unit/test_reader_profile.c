/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_profile.c - tests of the output of commands about callchains.
 *
 * `test_reader_profile --save FILE` writes the report for other tests, --save-without FILE one
 * without callchains.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/events.h"
#include "reader/cli/base/input.h"
#include "reader/cli/stats/stats.h"
#include "reader/export/exporters.h"
#include "tests/unit/chained_report.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/test_reader_profile.XXXXXX";
static char *text;
static size_t bytes;

static void is_text(const char *expected, const char *name)
{
	char *at = strstr(text, path);
	if (at)
		memmove(at + 1, at + strlen(path), strlen(at + strlen(path)) + 1), *at = 'F';
	if (!check(!strcmp(text, expected), "%s", name))
		fprintf(stderr, "---- expected\n%s---- got\n%s----\n", expected, text);
	free(text);
	text = NULL;
}

static void dump_is(const struct events_form *form, const char *function, const char *expected,
	const char *name)
{
	struct cli_report report;
	const struct contents_visitor nobody = {0};
	const struct cursor_filter filter = {.kind = KIND_OSRT_CALL, .name = function};
	FILE *out = open_memstream(&text, &bytes);
	if (!out || cli_open(&report, path, true))
		abort();
	check(!events_print(out, &report, &nobody, &filter, form), "dump: %s", name);
	fclose(out);
	cli_close(&report);
	is_text(expected, "the output is as expected");
}

static void stats_is(const char *report, const struct stats_form *form, const char *expected)
{
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		abort();
	check(!stats_print(path, report, form, out, "memory"), "%s", report);
	fclose(out);
	is_text(expected, "the output is as expected");
}

static const char dump_text[] =
	"1000 100/100 osrt_call duration_ns=100 function=read return_value=1 object=3 "
	"callchain=\"std::inl<\\\"x\\\"> <- helper <- run(int; char) <- main\" "
	"callchain_method=\"rules\"\n"
	"1500 100/101 osrt_call duration_ns=1000 function=poll return_value=0 object=0x4 "
	"callchain=\"liby.so+0x998\" callchain_method=\"rules, cut\"\n"
	"2000 100/100 osrt_call duration_ns=200 function=read return_value=1 object=3 "
	"callchain=\"run(int; char) <- main\" callchain_method=\"libunwind\"\n"
	"3000 100/100 osrt_call duration_ns=50 function=poll return_value=1 object=0x3 "
	"callchain=\"run(int; char) <- run(int; char) <- main\" callchain_method=\"rules\"\n"
	"3500 100/101 osrt_call duration_ns=10 function=read return_value=0 object=4\n"
	"4000 100/100 osrt_call duration_ns=100 function=read return_value=1 object=3 "
	"callchain=\"std::inl<\\\"x\\\"> <- helper <- run(int; char) <- main\" "
	"callchain_method=\"rules\"\n"
	"4500 100/101 osrt_call duration_ns=30 function=read return_value=0 object=4 "
	"callchain=\"lost <- ?\" callchain_method=\"rules\"\n"
	"5000 100/101 osrt_call duration_ns=5000 function=read return_value=0 object=4 "
	"flags=unfinished callchain=\"run(int; char) <- main\" callchain_method=\"rules\"\n";

static const char raw_text[] =
	"1500 100/101 osrt_call duration_ns=1000 function=poll return_value=0 object=0x4 "
	"callchain=\"0x7f0000000999\" callchain_method=\"rules, cut\"\n"
	"3000 100/100 osrt_call duration_ns=50 function=poll return_value=1 object=0x3 ca"
	"llchain=\"0x401021 <- 0x401020 <- 0x401010\" callchain_method=\"rules\"\n";

static const char json_text[] =
	"{\"kind\":\"osrt_call\",\"process\":1,\"pid\":100,\"tid\":101,\"start_ns\":1500,"
	"\"duration_ns\":1000,\"function\":\"poll\",\"return_value\":0,\"errno\":0,\"obje"
	"ct\":\"0x4\",\"holder_tid\":0,\"flags\":[],\"callchain\":[{\"address\":\"0x7f000"
	"0000999\",\"function\":null,\"offset\":2456,\"module\":\"/lib/liby.so\",\"file\""
	":null,\"line\":null,\"inlined\":false,\"reason\":\"no such file\"}],\"callchain_"
	"method\":\"rules, cut\"}\n"
	"{\"kind\":\"osrt_call\",\"process\":1,\"pid\":100,\"tid\":100,\"start_ns\":3000,"
	"\"duration_ns\":50,\"function\":\"poll\",\"return_value\":1,\"errno\":0,\"object"
	"\":\"0x3\",\"holder_tid\":0,\"flags\":[],\"callchain\":[{\"address\":\"0x401021"
	"\",\"function\":\"run(int; char)\",\"offset\":17,\"module\":\"/bin/app\",\"file"
	"\":\"/src/app.c\",\"line\":21,\"inlined\":false},{\"address\":\"0x401020\",\"fun"
	"ction\":\"run(int; char)\",\"offset\":16,\"module\":\"/bin/app\",\"file\":\"/src"
	"/app.c\",\"line\":20,\"inlined\":false},{\"address\":\"0x401010\",\"function\":"
	"\"main\",\"offset\":16,\"module\":\"/bin/app\",\"file\":\"/src/app.c\",\"line\":"
	"30,\"inlined\":false}],\"callchain_method\":\"rules\"}\n";

static const char tree_table[] =
	"Processing [F] with [callchain_tree]... \n"
	"\n"
	" ** Callchains, Outermost Function First (callchain_tree):\n"
	"\n"
	" Total (%)  Total Time (ns)  Self Time (ns)  Calls  Self Calls  Depth         Na"
	"me             Module   \n"
	" ---------  ---------------  --------------  -----  ----------  -----  ---------"
	"----------  ------------\n"
	"      67.6            1,000               0      1           0      0  liby.so+0"
	"x998        /lib/liby.so\n"
	"      67.6            1,000           1,000      1           1      1    poll   "
	"                        \n"
	"      30.4              450               0      4           0      0  main     "
	"            /bin/app    \n"
	"      30.4              450               0      4           0      1    run(int"
	"; char)     /bin/app    \n"
	"      13.5              200               0      2           0      2      helpe"
	"r           /bin/app    \n"
	"      13.5              200               0      2           0      3        std"
	"::inl<\"x\">  /bin/app    \n"
	"      13.5              200             200      2           2      4          r"
	"ead                     \n"
	"      13.5              200             200      1           1      2      read "
	"                        \n"
	"       3.4               50               0      1           0      2      run(i"
	"nt; char)   /bin/app    \n"
	"       3.4               50              50      1           1      3        pol"
	"l                       \n"
	"       2.0               30               0      1           0      0  [not in t"
	"he file]                \n"
	"       2.0               30               0      1           0      1    lost   "
	"            /bin/app    \n"
	"       2.0               30              30      1           1      2      read "
	"                        \n"
	"\n";

static const char tree_count[] =
	"Total (%),Total Time (ns),Self Time (ns),Calls,Self Calls,Depth,Name,Module\n"
	"66.7,450,0,4,0,0,main,/bin/app\n"
	"66.7,450,0,4,0,1,run(int; char),/bin/app\n"
	"33.3,200,0,2,0,2,helper,/bin/app\n"
	"33.3,200,0,2,0,3,\"std::inl<\"\"x\"\">\",/bin/app\n"
	"33.3,200,200,2,2,4,read,\n"
	"16.7,200,200,1,1,2,read,\n"
	"16.7,50,0,1,0,2,run(int; char),/bin/app\n"
	"16.7,50,50,1,1,3,poll,\n"
	"16.7,30,0,1,0,0,[not in the file],\n"
	"16.7,30,0,1,0,1,lost,/bin/app\n"
	"16.7,30,30,1,1,2,read,\n"
	"16.7,1000,0,1,0,0,liby.so+0x998,/lib/liby.so\n"
	"16.7,1000,1000,1,1,1,poll,\n";

static const char tree_filtered[] =
	"Total (%),Total Time (ns),Self Time (ns),Calls,Self Calls,Depth,Name,Module\n"
	"100.0,400,0,3,0,0,main,/bin/app\n"
	"100.0,400,0,3,0,1,run(int; char),/bin/app\n"
	"50.0,200,0,2,0,2,helper,/bin/app\n"
	"50.0,200,0,2,0,3,\"std::inl<\"\"x\"\">\",/bin/app\n"
	"50.0,200,200,2,2,4,read,\n"
	"50.0,200,200,1,1,2,read,\n";

static const char flat_table[] =
	"Processing [F] with [callchain_flat]... \n"
	"\n"
	" ** Callchains by Function (callchain_flat):\n"
	"\n"
	" Total (%)  Self (%)  Total Time (ns)  Self Time (ns)  Calls  Self Calls        "
	"Name            Module          Source     \n"
	" ---------  --------  ---------------  --------------  -----  ----------  ------"
	"-----------  ------------  ----------------\n"
	"      70.9      70.9            1,050           1,050      2           2  poll  "
	"                                           \n"
	"      67.6       0.0            1,000               0      1           0  liby.s"
	"o+0x998      /lib/liby.so                  \n"
	"      30.4       0.0              450               0      4           0  main  "
	"             /bin/app      /src/app.c:30   \n"
	"      30.4       0.0              450               0      4           0  run(in"
	"t; char)     /bin/app      /src/app.c:20   \n"
	"      29.1      29.1              430             430      4           4  read  "
	"                                           \n"
	"      13.5       0.0              200               0      2           0  helper"
	"             /bin/app      /src/app.c:10   \n"
	"      13.5       0.0              200               0      2           0  std::i"
	"nl<\"x\">      /bin/app      /src/inl \"q\".h:3\n"
	"       2.0       0.0               30               0      1           0  [not i"
	"n the file]                                \n"
	"       2.0       0.0               30               0      1           0  lost  "
	"             /bin/app                      \n"
	"\n";

static const char two_reports[] =
	"Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (n"
	"s),Name\n"
	"100.0,400,3,133.3,100.0,100,200,57.7,read\n"
	"\n"
	"Total (%),Self (%),Total Time (ns),Self Time (ns),Calls,Self Calls,Name,Module,S"
	"ource\n"
	"100.0,100.0,400,400,3,3,read,,\n"
	"100.0,0.0,400,0,3,0,main,/bin/app,/src/app.c:30\n"
	"100.0,0.0,400,0,3,0,run(int; char),/bin/app,/src/app.c:20\n"
	"50.0,0.0,200,0,2,0,helper,/bin/app,/src/app.c:10\n"
	"50.0,0.0,200,0,2,0,\"std::inl<\"\"x\"\">\",/bin/app,\"/src/inl \"\"q\"\".h:3\"\n";

static void tree(void)
{
	const struct stats_form form = {.no_wait = true},
				csv = {.no_wait = true, .format = "csv", .weight = PROFILE_COUNT},
				filtered = {.no_wait = true,
					.format = "csv",
					.filter = {.tid = 100, .name = "r*"}};
	stats_is("callchain_tree", &form, tree_table);
	stats_is("callchain_tree", &csv, tree_count);
	stats_is("callchain_tree", &filtered, tree_filtered);
	stats_is("callchain_flat", &form, flat_table);
	stats_is("osrt_sum,callchain_flat", &filtered, two_reports);
}

static const char folded_time[] =
	"app (100);main (100);main;run(int: char);helper;std::inl<\"x\">;read 200\n"
	"app (100);main (100);main;run(int: char);read 200\n"
	"app (100);main (100);main;run(int: char);run(int: char);poll 50\n";
static const char folded_count[] =
	"app (100);main (100);main;run(int: char);helper;std::inl<\"x\">;read 2\n"
	"app (100);main (100);main;run(int: char);read 1\n"
	"app (100);main (100);main;run(int: char);run(int: char);poll 1\n";

/* Write the folded stacks of one thread to `text`. Returns how many calls are too deep. */
static uint64_t folded_text(enum profile_source source, enum profile_weight weight, uint32_t tid)
{
	struct report report;
	struct contents c;
	struct symbols symbols;
	struct profile profile;
	const char *cause;
	const struct contents_visitor nobody = {0};
	const struct cursor_filter filter = {.tid = tid};
	FILE *out = open_memstream(&text, &bytes);
	if (!out || report_open(&report, path, 0, &cause))
		abort();
	contents_init(&c);
	symbols_init(&symbols, &c, NULL);
	check(!profile_init(&profile, &c, &symbols, &filter, source, true) &&
			!profile_read(&profile, &report, &nobody) &&
			!folded_write(out, &profile, weight),
		"the folded stacks of one thread are printed");
	fclose(out);
	const uint64_t too_deep = profile.too_deep;
	profile_release(&profile);
	symbols_release(&symbols);
	contents_release(&c);
	report_close(&report);
	return too_deep;
}

static void folded_is(enum profile_weight weight, const char *expected)
{
	folded_text(PROFILE_OSRT, weight, 100);
	is_text(expected, "the output is as expected");
}

/* Close a plug-in and load another at its address: the same node then means another function. */
static void reused_addresses(void)
{
	static const char expected[] = "app (100);thread (7);other;plug;read 5\n"
				       "app (100);thread (7);one;plug;read 3\n";
	const struct make_symbol symbols[] = {
		{0x1011, 1, "/lib/a.so", "", 1, {{"one", "", 0}}},
		{0x1011, 1, "/lib/b.so", "", 1, {{"other", "", 0}}},
		{0x1021, 1, "/lib/a.so", "", 1, {{"plug", "", 0}}},
		{0x1021, 1, "/lib/b.so", "", 1, {{"plug", "", 0}}},
	};
	const uint32_t parents[] = {0, 1};
	const uint64_t addresses[] = {0x1011, 0x1021};
	struct make_report m;
	make_init(&m, false);
	make_session(&m, 1000);
	make_process(&m, 1, 100, 1, "/bin/app");
	const uint32_t read = make_string(&m, "read");
	int64_t calls[8][10];
	for (int i = 0; i < 8; i++) {
		const int64_t call[] = {
			(i < 3 ? 2000 : 7000) + i * 10, 1, read, 0, 0, 0, 0, 0, 2, 1};
		memcpy(calls[i], call, sizeof(call));
	}
	make_callchains(&m, 1, 1, 2, parents, addresses);
	make_module(&m, 1, 1000, 0x1000, 0x2000, 0, "/lib/a.so", "");
	make_module_end(&m, 1, 5000, 0x1000);
	make_module(&m, 1, 6000, 0x1000, 0x2000, 0, "/lib/b.so", "");
	make_batch(&m, KIND_OSRT_CALL, 1, 7, 8, 10, calls[0]);
	make_symbols(&m, 1, 4, symbols);
	make_block_end(&m);
	make_save(&m, path);
	make_release(&m);
	folded_text(PROFILE_OSRT, PROFILE_TIME, 7);
	is_text(expected, "a node is another function after another module took its address");
}

enum { CALL_FIELDS = 9, NESTED = PROFILE_CALLS_OPEN_MAX + 1000 };

/* Write a report with these calls of functions in thread 7. */
static void functions_save(struct make_report *m, size_t rows, const int64_t *calls)
{
	make_session(m, 1000);
	make_process(m, 1, 100, 1, "/bin/app");
	make_batch(m, KIND_FUNCTION_CALL, 1, 7, rows, CALL_FIELDS, calls);
	make_block_end(m);
	make_save(m, path);
	make_release(m);
}

/* An inner call is recorded first. With a slow clock it has the same start as the outer one. */
static void tied_functions(void)
{
	struct make_report m;
	make_init(&m, false);
	const int64_t inner = make_string(&m, "inner"), outer = make_string(&m, "outer"),
		      equal = make_string(&m, "equal"), library = make_string(&m, "lib.so");
	const int64_t calls[][CALL_FIELDS] = {
		{2000, 30, inner, library, 0, 1, 0, 0, 0},
		{2000, 50, outer, library, 0, 0, 0, 0, 0},
		{3000, 10, inner, library, 0, 1, 0, 0, 0},
		{3000, 10, equal, library, 0, 0, 0, 0, 0},
	};
	functions_save(&m, 4, calls[0]);
	folded_text(PROFILE_FUNCTIONS, PROFILE_COUNT, 7);
	is_text("app (100);thread (7);equal 1\n"
		"app (100);thread (7);equal;inner 1\n"
		"app (100);thread (7);outer 1\n"
		"app (100);thread (7);outer;inner 1\n",
		"the outer one of two calls with the same start is around the inner one");
}

/* Calls within each other: what is printed does not grow with the square of their number. */
static void nested_functions(void)
{
	static int64_t calls[NESTED][CALL_FIELDS];
	struct make_report m;
	make_init(&m, false);
	const int64_t name = make_string(&m, "f"), library = make_string(&m, "lib.so");
	for (int i = 0; i < NESTED; i++) {
		const int64_t call[] = {
			2000 + i, 2 * (NESTED - i), name, library, 0, i < 255 ? i : 255, 0, 0, 0};
		memcpy(calls[i], call, sizeof(call));
	}
	functions_save(&m, NESTED, calls[0]);
	const uint64_t too_deep = folded_text(PROFILE_FUNCTIONS, PROFILE_TIME, 7);
	size_t lines = 0, most = 0, frames = 0;
	uint64_t ns = 0;
	for (const char *at = text; *at; at++) {
		frames += *at == ';';
		if (*at != '\n')
			continue;
		most = frames > most ? frames : most;
		frames = 0;
		lines++;
	}
	for (const char *at = text; (at = strstr(at, "f ")); at++)
		ns += strtoull(at + 2, NULL, 10);
	check(lines == PROFILE_CALLS_OPEN_MAX && most == lines + 1 &&
			too_deep == NESTED - PROFILE_CALLS_OPEN_MAX && ns == 2 * NESTED,
		"%d calls within each other: those too deep are counted, and no time is lost",
		NESTED);
	free(text);
	text = NULL;
}

/* --save-addresses FILE MODULE BUILD_ID ADDRESS...: write a report with a chain for each address of
 * the file. */
static int save_addresses(int argc, char **argv)
{
	const uint64_t bias = 0x7f0000000000;
	struct make_report m;
	int count = argc - 5;
	uint64_t *addresses = calloc((size_t)count + 1, sizeof(*addresses));
	uint32_t *parents = calloc((size_t)count + 1, sizeof(*parents));
	int64_t(*calls)[10] = calloc((size_t)count + 1, sizeof(*calls));
	if (!addresses || !parents || !calls)
		return 1;
	make_init(&m, getenv("COMPRESS") != NULL);
	make_session(&m, 1000);
	make_process(&m, 1, 4000000000u, 1, "/bin/app");
	const uint32_t function = make_string(&m, "read");
	for (int i = 0; i < count; i++) {
		const int64_t call[] = {2000 + i, 10, function, 1, 0, 3, 0, 0, i + 1, 1};
		addresses[i] = bias + strtoull(argv[5 + i], NULL, 0) + 1;
		memcpy(calls[i], call, sizeof(call));
	}
	make_callchains(&m, 1, 1, (size_t)count, parents, addresses);
	make_module(&m, 1, 1000, bias, bias + (UINT64_C(1) << 32), bias, argv[3], argv[4]);
	make_batch(&m, KIND_OSRT_CALL, 1, 7, (size_t)count, 10, calls[0]);
	make_receipt(&m, 1, (uint64_t)count + 1, 0);
	make_block_end(&m);
	make_save(&m, argv[2]);
	make_release(&m);
	free(addresses);
	free(parents);
	free(calls);
	return 0;
}

int main(int argc, char **argv)
{
	struct make_report m;
	if (argc == 3 && !strcmp(argv[1], "--save-without")) {
		make_sample(&m, false);
		make_save(&m, argv[2]);
		make_release(&m);
		return 0;
	}
	if (argc > 5 && !strcmp(argv[1], "--save-addresses"))
		return save_addresses(argc, argv);
	make_chained(&m, true);
	if (argc == 3 && !strcmp(argv[1], "--save")) {
		make_save(&m, argv[2]);
		make_release(&m);
		return 0;
	}
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	make_save(&m, path);
	make_release(&m);
	dump_is(&(struct events_form){0}, NULL, dump_text, "text");
	dump_is(&(struct events_form){.no_symbols = true}, "poll", raw_text, "raw");
	dump_is(&(struct events_form){.json = true}, "poll", json_text, "json");
	tree();
	folded_is(PROFILE_TIME, folded_time);
	folded_is(PROFILE_COUNT, folded_count);
	reused_addresses();
	tied_functions();
	nested_functions();
	unlink(path);
	return tap_done();
}
