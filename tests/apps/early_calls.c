/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -learly
/*
 * early_calls.c - linked with a library whose constructor reads, starts a thread and forks before
 * the tracer's constructor has run.
 *
 * Calls before the tracer is ready, and in destructors after it has ended, must work, and must be
 * recorded or counted as missing.
 */
#include "app.h"

extern int early_calls;

static void before_constructors(int argc, char **argv, char **envp)
{
	(void)argc, (void)argv, (void)envp;
	lseek(0, 0, SEEK_CUR);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(
	int, char **, char **) = before_constructors;

int main(void)
{
	check(early_calls == 21, "the constructor's calls worked");
	say("expect-at-most %d pread", 40);
	return app_result();
}
