/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - execution of rule files in a separate process.
 *
 * One thread; starts python3 and waits for it.
 */
#ifndef READER_CLI_RULES_H
#define READER_CLI_RULES_H

#include "reader/cli/base/message.h"
#include "reader/ncu/findings.h"

struct rules_job {
	const char *python;          /* the interpreter's path */
	const char *report;          /* NULL if is_list */
	const char *folders, *rules; /* one per line; NULL = no folder, all rules */
	const char *limit_s; /* seconds as digits: the time limit of one rule on one result */
	bool is_list;        /* list the rules, run none */
};

struct rules_run {
	struct findings *findings; /* receives the findings; NULL = none are expected */
	uint64_t problems;         /* number of problems that were printed */
};

/* Run the rules of a job and print their problems. Returns STATUS_OK, or STATUS_FAILED if not all
 * rules ran. */
int rules_run(struct rules_run *run, const struct rules_job *job);

#endif
