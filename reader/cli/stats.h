/*
 * stats.h - statistics for other commands: `trace run --stats`.
 */
#ifndef READER_CLI_STATS_H
#define READER_CLI_STATS_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the reports of `list` in the format (NULL = table). Returns an exit status; messages are
 * on stderr. */
int stats_print(const char *file, const char *list, const char *format, bool no_wait, FILE *out,
	const char *out_name);

#endif
