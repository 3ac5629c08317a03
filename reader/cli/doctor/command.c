/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - `trace doctor`: the checks and their output.
 */
#include <stdio.h>
#include <string.h>

#include "reader/base/print.h"
#include "reader/cli/base/message.h"
#include "reader/cli/commands.h"
#include "reader/cli/doctor/checks.h"

static const struct {
	const char *name, *title; /* name in JSON, title in text */
	void (*look)(struct finding *f);
} checks[] = {
	{"record", "record programs", check_record},
	{"spool", "shared memory", check_spool},
	{"callchains", "callchains", check_callchains},
	{"samples", "CPU samples", check_samples},
	{"functions", "--functions", check_functions},
	{"openmp", "OpenMP", check_openmp},
	{"clock", "clock", check_clock},
	{"driver", "CUDA driver", check_driver},
	{"cupti", "CUPTI", check_cupti},
	{"counters", "GPU counters", check_counters},
	{"fecs", "GPU switches", check_fecs},
	{"ptrace", "ptrace", check_ptrace},
	{"perf_event", "perf_event", check_perf},
	{"mpi", "MPI", check_mpi},
	{"debuginfod", "debuginfod", check_debuginfod},
};
#define CHECKS (sizeof(checks) / sizeof(checks[0]))

static const char *const state_names[] = {"yes", "partly", "no", "absent"};

static void print_json_finding(size_t number, const struct finding *f)
{
	printf("%s\n  {\"name\": \"%s\", \"state\": \"%s\", \"text\": ", number ? "," : "",
		checks[number].name, state_names[f->state]);
	print_json_string(stdout, f->text);
	fputs(", \"advice\": ", stdout);
	print_json_string(stdout, *f->advice ? f->advice : NULL);
	putchar('}');
}

static void print_finding(size_t number, const struct finding *f)
{
	printf("  %-7s %-16s ", f->state == FINDING_ABSENT ? "-" : state_names[f->state],
		checks[number].title);
	print_text(stdout, f->text, strlen(f->text));
	if (*f->advice) {
		printf("\n  %-7s %-16s > ", "", "");
		print_text(stdout, f->advice, strlen(f->advice));
	}
	putchar('\n');
}

int command_doctor(const struct options *o)
{
	const bool json = o->value[OPT_doctor_json];
	struct finding findings[CHECKS] = {0};
	for (size_t i = 0; i < CHECKS; i++)
		checks[i].look(&findings[i]);
	const bool can_record = findings[0].state != FINDING_NO;
	if (json)
		printf("{\"version\": \"" LIBTRACE_VERSION "\", \"can_record\": %s, \"checks\": [",
			can_record ? "true" : "false");
	else
		puts("trace " LIBTRACE_VERSION ": what can be recorded here");
	for (size_t i = 0; i < CHECKS; i++)
		(json ? print_json_finding : print_finding)(i, &findings[i]);
	if (json)
		puts("\n]}");
	int status = cli_finish(stdout, "standard output");
	return status ? status : can_record ? STATUS_OK : STATUS_DAMAGED;
}
