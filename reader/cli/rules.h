/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - running rule files in a process of their own.
 *
 * One thread; starts python3 and waits for it.
 */
#ifndef READER_CLI_RULES_H
#define READER_CLI_RULES_H

#include "reader/cli/base/message.h"
#include "reader/ncu/findings.h"

struct rules_job {
	const char *python;          /* program */
	const char *report;          /* NULL with is_list */
	const char *folders, *rules; /* a line each; NULL = none, all */
	const char *limit_s;         /* digits: for a rule and a result */
	bool is_list;                /* print what rules there are */
};

struct rules_run {
	struct findings *findings; /* NULL = none are expected */
	uint64_t problems;         /* that were told */
};

/* Runs the rules; prints what is wrong with them. An exit status: STATUS_FAILED, they were not all
 * run. */
int rules_run(struct rules_run *run, const struct rules_job *job);

#endif
