/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_info.c - tests of the processes of `trace info`: the receipt of each source of each
 * process, and their sums; of the order of pairs of hosts; and of the search for a process by
 * its pid.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "reader/cli/info/info.h"
#include "tests/unit/tap.h"

#define PROCESSES 2

static char *text;

/* Print two processes with this receipt, and store the text. */
static void print(const Libtrace__Receipt *receipt, bool patterns)
{
	Libtrace__Process facts[PROCESSES] = {LIBTRACE__PROCESS__INIT, LIBTRACE__PROCESS__INIT};
	struct process *rows[PROCESSES];
	struct process_list list = {.rows = rows, .count = PROCESSES};
	size_t bytes;
	free(text);
	FILE *out = open_memstream(&text, &bytes);
	for (uint32_t n = 0; n < PROCESSES; n++) {
		facts[n].pid = facts[n].id = 100 + n;
		rows[n] = calloc(1, sizeof(*rows[n]));
		rows[n]->facts = &facts[n];
		rows[n]->receipt = (Libtrace__Receipt *)(uintptr_t)receipt;
	}
	info_print_processes(out, &list, patterns, true);
	fclose(out);
	for (size_t n = 0; n < PROCESSES; n++)
		free(rows[n]);
}

/* Check that the text has a line once for each process, and another once in the sums. */
static void prints(const char *each, const char *sum)
{
	const char *total = strstr(text, "\nall processes together:");
	int count = 0;
	for (const char *at = text; (at = strstr(at, each)) && at < total; at++)
		count++;
	check(total && count == PROCESSES && strstr(total, sum), "of each process: %.*s",
		(int)strcspn(each, "\n"), each);
}

static void sources_are_summed(void)
{
	Libtrace__Receipt r = LIBTRACE__RECEIPT__INIT;
	Libtrace__SwitchReceipt switches = LIBTRACE__SWITCH_RECEIPT__INIT;
	Libtrace__CpuReceipt cpu = LIBTRACE__CPU_RECEIPT__INIT;
	Libtrace__ThreadTimeReceipt times = LIBTRACE__THREAD_TIME_RECEIPT__INIT;
	Libtrace__FunctionReceipt functions = LIBTRACE__FUNCTION_RECEIPT__INIT;
	r.switches = &switches;
	r.cpu = &cpu;
	r.thread_time = &times;
	r.functions = &functions;
	switches.switches = 20;
	switches.threads = cpu.threads = times.threads = functions.modules = 1;
	switches.lost = 3;
	switches.threads_refused = cpu.threads_refused = 1;
	switches.threads_missed = 2;
	cpu.samples = 5;
	cpu.frequency = 97;
	cpu.blocked = 1;
	times.readings = times.inexact = 1;
	functions.functions = functions.patched = 2;
	functions.slots = 9;
	print(&r, false);
	prints("context switches: 20 in 1 thread, 3 lost, 1 thread not recorded, 2 threads "
	       "ended before recording began\n",
		"context switches: 40 in 2 threads, 6 lost, 2 threads not recorded, 4 threads "
		"ended before recording began\n");
	prints("CPU samples: 5 in 1 thread at 97 Hz, 0.000 s, 1 time without samples (a thread "
	       "blocked SIGURG), 1 thread not sampled (no timer or event)\n",
		"CPU samples: 10 in 2 threads at 97 Hz, 0.000 s, 2 times without samples (a thread "
		"blocked SIGURG), 2 threads not sampled (no timer or event)\n");
	prints("thread times: 1 thread, 1 reading while they ran, 1 thread ended without an exact "
	       "runnable time\n",
		"thread times: 2 threads, 2 readings while they ran, 2 threads ended without an "
		"exact runnable time\n");
	prints("functions of libraries: 2 matched, 2 of 9 import slots patched in 1 module\n",
		"functions of libraries: 4 matched, 4 of 18 import slots patched in 2 modules\n");
}

static void no_function_matched(void)
{
	Libtrace__Receipt r = LIBTRACE__RECEIPT__INIT;
	Libtrace__FunctionReceipt functions = LIBTRACE__FUNCTION_RECEIPT__INIT;
	r.functions = &functions;
	functions.modules = 1;
	print(&r, true);
	prints("0 matched, 0 of 0 import slots patched in 1 module\n",
		"0 matched, 0 of 0 import slots patched in 2 modules\n    functions of the C "
		"library");
	print(&r, false);
	check(strstr(text, "0 matched") && !strstr(text, "functions of the C library"),
		"without --functions nobody asked for functions of the C library");
}

static void sources_without_receipts(void)
{
	Libtrace__Receipt r = LIBTRACE__RECEIPT__INIT;
	print(&r, false);
	check(!strstr(text, "switches") && !strstr(text, "samples") && !strstr(text, "functions"),
		"sources that were not asked for have no line");
	print(NULL, false);
	check(strstr(text, "together:\n  receipt: none\n") != NULL, "no process has a receipt");
	free(text);
}

/* Of a pid, the program image that started last is found, wherever the file mentions it first. */
static void last_image_is_found(void)
{
	Libtrace__Process facts[3] = {
		LIBTRACE__PROCESS__INIT, LIBTRACE__PROCESS__INIT, LIBTRACE__PROCESS__INIT};
	static const uint64_t starts[3][3] = {{1, 2, 3}, {3, 1, 2}, {2, 3, 1}};
	struct process each[3] = {{.facts = &facts[0]}, {.facts = &facts[1]}, {.facts = &facts[2]}};
	struct process *rows[3] = {&each[0], &each[1], &each[2]};
	const struct process_list list = {.rows = rows, .count = 3};
	for (size_t order = 0; order < 3; order++) {
		size_t last = 0;
		for (size_t n = 0; n < 3; n++) {
			facts[n].pid = 100;
			facts[n].start_ns = starts[order][n];
			last = starts[order][n] == 3 ? n : last;
		}
		check(process_find_pid(&list, 100) == &each[last],
			"the last program image of a pid is number %zu", last);
	}
	check(!process_find_pid(&list, 101), "a pid without a process");
}

/* Pairs of hosts with equal errors are in the order of the hosts, not of the file. */
static void pairs_are_ordered(void)
{
	static const uint32_t hosts[3] = {3, 1, 2};
	uint64_t error_ns[2] = {7, 7};
	Libtrace__Session session = LIBTRACE__SESSION__INIT;
	Libtrace__Merged each[3];
	Libtrace__Merged *merged[3];
	const struct contents c = {.merged = merged, .merged_count = 3};
	size_t bytes;
	for (size_t i = 0; i < 3; i++) {
		each[i] = (Libtrace__Merged)LIBTRACE__MERGED__INIT;
		merged[i] = &each[i];
		each[i].host = hosts[i];
		each[i].session = &session;
		each[i].pair_error_ns = each[i].pair_error_ends_ns = error_ns;
		each[i].n_pair_error_ns = each[i].n_pair_error_ends_ns = hosts[i] - 1;
	}
	FILE *out = open_memstream(&text, &bytes);
	info_print_merged(out, &c, false);
	fclose(out);
	const char *first = strstr(text, "hosts 1 and 2:");
	const char *second = first ? strstr(first, "hosts 1 and 3:") : NULL;
	check(second && strstr(second, "hosts 2 and 3:"),
		"pairs with equal errors are in the order of hosts");
	free(text);
	text = NULL;
}

int main(void)
{
	pairs_are_ordered();
	last_image_is_found();
	sources_are_summed();
	no_function_matched();
	sources_without_receipts();
	return tap_done();
}
