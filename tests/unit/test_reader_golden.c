/* SPDX-License-Identifier: Apache-2.0 */
/* test_reader_golden.c - compares the output of commands for a known report byte by byte. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/events.h"
#include "reader/cli/info/info.h"
#include "reader/cli/base/input.h"
#include "reader/cli/stats/stats.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/test_reader_golden.XXXXXX";

/* Compare two texts; show both when they differ. */
static void is_text(const char *got, const char *expected, const char *name)
{
	if (check(!strcmp(got, expected), "%s", name))
		return;
	fprintf(stderr, "---- expected\n%s---- got\n%s----\n", expected, got);
}

static void stats_is(const char *report, const char *format, const char *expected)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return;
	check(stats_print(path, report, &(struct stats_form){.format = format, .no_wait = true},
		      out, "memory") == 0,
		"%s as %s: it succeeds", report, format);
	fclose(out);
	/* the name of the file differs from run to run */
	char *name = strstr(text, path);
	if (name)
		memmove(name + 1, name + strlen(path), strlen(name + strlen(path)) + 1),
			*name = 'F';
	is_text(text, expected, "the output is as expected");
	free(text);
}

static void dump_is(
	const struct cursor_filter *filter, bool json, const char *expected, const char *name)
{
	char *text = NULL;
	size_t bytes;
	struct cli_report report;
	const struct contents_visitor nobody = {0};
	FILE *out = open_memstream(&text, &bytes);
	if (!out || !check(cli_open(&report, path, true) == 0, "opens"))
		return;
	check(events_print(out, &report, &nobody, filter, &(struct events_form){.json = json}) == 0,
		"%s: it succeeds", name);
	fclose(out);
	is_text(text, expected, "the output is as expected");
	free(text);
	cli_close(&report);
}

static const char sum_table[] = "Processing [F] with [osrt_sum]... \n"
				"\n"
				" ** OS Runtime Summary (osrt_sum):\n"
				"\n"
				" Time (%)  Total Time (ns)  Num Calls  Avg (ns)   Med (ns)   Min "
				"(ns)  Max (ns)  StdDev (ns)  "
				"       Name       \n"
				" --------  ---------------  ---------  ---------  ---------  "
				"--------  --------  -----------  "
				"------------------\n"
				"     69.0          100,000          1  100,000.0  100,000.0   "
				"100,000   100,000          0.0  "
				"poll              \n"
				"     27.6           40,000          1   40,000.0   40,000.0    "
				"40,000    40,000          0.0  "
				"pthread_mutex_lock\n"
				"      3.4            5,000          3    1,666.7    1,500.0     "
				"1,000     2,500        763.8  "
				"read              \n"
				"\n";

static const char sum_csv[] =
	"Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
	"69.0,100000,1,100000.0,100000.0,100000,100000,0.0,poll\n"
	"27.6,40000,1,40000.0,40000.0,40000,40000,0.0,pthread_mutex_lock\n"
	"3.4,5000,3,1666.7,1500.0,1000,2500,763.8,read\n";

static const char totals_tsv[] = "Calls\tTotal (ns)\tRecorded\tRecorded (ns)\tBelow "
				 "Threshold\tBelow Threshold (ns)\tUnfinished\t"
				 "Name\n"
				 "1\t100000\t1\t100000\t0\t0\t0\tpoll\n"
				 "1237\t61789\t3\t5000\t1234\t56789\t0\tread\n"
				 "2\t40000\t1\t40000\t0\t0\t1\tpthread_mutex_lock\n";

static const char dump_all[] =
	"0 100/100 thread_start name=\"main\\tthread\" parent_tid=0 flags=1\n"
	"1000 100/100 osrt_call duration_ns=1500 function=read return_value=17 object=3\n"
	"1500 100/100 child child_pid=101 how=\"posix_spawn\" verdict=\"traced\" path=\"/tmp/a "
	"\\\"b\\\"\"\n"
	"2000 101/102 osrt_call duration_ns=40000 function=pthread_mutex_lock return_value=0 "
	"object=0x1000 holder_tid=100\n"
	"4000 100/100 osrt_call duration_ns=2500 function=read return_value=-1 errno=EAGAIN "
	"object=3\n"
	"8000 100/100 osrt_call duration_ns=100000 function=poll return_value=0 "
	"object=0x7fff12345678\n"
	"59000 101/102 osrt_call duration_ns=1000 function=read return_value=1 object=4 "
	"flags=nested\n"
	"59500 101/102 file_path descriptor=-1 open_flags=0x241 mode=0x1b6 path=\"/tmp/a "
	"\\\"b\\\"\"\n"
	"60000 101/102 gap duration_ns=500 count=7 reason=\"report not writable\"\n"
	"69000 101/102 osrt_call duration_ns=500000 function=pthread_mutex_lock return_value=0 "
	"object=0x1000 flags=unfinished\n"
	"599000 100/100 osrt_summary function=read count=1234 total_ns=56789\n"
	"599000 100/100 thread_end\n";

static const char dump_lock_json[] =
	"{\"kind\":\"osrt_call\",\"process\":2,\"pid\":101,\"tid\":102,\"start_ns\":2000,"
	"\"duration_ns\":40000,\"function\":\"pthread_mutex_lock\",\"return_value\":0,\"errno\":0,"
	"\"object\":\"0x1000\",\"holder_tid\":100,\"flags\":[],\"callchain\":[],"
	"\"callchain_method\":\"none\"}\n";

static void filters(void)
{
	const struct cursor_filter all = {0}, late = {.start_ns = 599000},
				   locks = {.name = "pthread_*", .end_ns = 5000},
				   other = {.pid = 100, .tid = 102}, gaps = {.kind = KIND_GAP};
	dump_is(&all, false, dump_all, "dump prints all events in order of their start");
	dump_is(&late, false, strstr(dump_all, "599000 "), "dump prints the events from a time on");
	dump_is(&locks, true, dump_lock_json, "dump selects by name and time, and prints JSON");
	dump_is(&other, false, "", "dump selects by process and thread at once");
	dump_is(&gaps, false,
		"60000 101/102 gap duration_ns=500 count=7 reason=\"report not writable\"\n",
		"by kind");
}

static void verdicts(void)
{
	struct info i = {0};
	char text[512];
	if (!check(info_gather(&i, path, true) == 0, "info"))
		return;
	info_verdict(&i, text, sizeof(text));
	is_text(text, "7 events dropped", "the verdict says what is missing");
	check(i.c.processes.count == 2 && i.c.events_total == 12,
		"the verdict counts processes and events");
	info_release(&i);
}

int main(void)
{
	struct make_report m;
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	make_sample(&m, false);
	make_save(&m, path);
	make_release(&m);
	stats_is("osrt_sum", "table", sum_table);
	stats_is("osrt_sum", "csv", sum_csv);
	stats_is("osrt_totals", "tsv", totals_tsv);
	filters();
	verdicts();
	unlink(path);
	return tap_done();
}
