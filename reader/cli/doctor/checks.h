/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks.h - the checks of `trace doctor`: what can be recorded on this machine.
 *
 * A check changes nothing on the machine and removes its temporary files before it returns. One
 * thread.
 */
#ifndef READER_CLI_DOCTOR_CHECKS_H
#define READER_CLI_DOCTOR_CHECKS_H

#include <stdbool.h>

enum finding_state {
	FINDING_YES,
	FINDING_PARTLY,
	FINDING_NO,
	FINDING_ABSENT, /* nothing to record: there is no such hardware or software here */
};

struct finding {
	enum finding_state state;
	char text[1024];
	char advice[512]; /* what to do about it; empty if nothing is to be done */
};

/* Set state and text, or the advice, of a finding. The format is that of printf. */
__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *f, enum finding_state state, const char *format, ...);
__attribute__((format(printf, 2, 3))) void finding_advise(
	struct finding *f, const char *format, ...);

/* Return the value of a line "name=value" in the output of libtrace-host, up to the end of its
 * line, in `ret_value` of `room` bytes; false if there is no such line. */
bool answer_find(const char *text, const char *name, char *ret_value, int room);

/* Read the first line of a file without its line end. Returns false if it cannot be read. */
bool line_read(const char *path, char *ret_line, int room);

/* Read the value of the first line "name: value" of a file, as those in /proc, in `ret_value` of
 * `room` bytes. Returns false, and leaves `ret_value` as it is, if there is no such line. */
bool field_read(const char *path, const char *name, char *ret_value, int room);

/* system.c */
void check_record(struct finding *f);
void check_spool(struct finding *f);
void check_callchains(struct finding *f);
void check_samples(struct finding *f);
void check_functions(struct finding *f);
void check_openmp(struct finding *f);
void check_clock(struct finding *f);
void check_ptrace(struct finding *f);
void check_perf(struct finding *f);

/* gpu.c */
void check_driver(struct finding *f);
void check_cupti(struct finding *f);
void check_counters(struct finding *f);
void check_fecs(struct finding *f);

/* tools.c */
void check_mpi(struct finding *f);
void check_debuginfod(struct finding *f);

#endif
