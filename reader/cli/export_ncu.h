/*
 * export_ncu.h - `trace export --type ncu`.
 */
#ifndef READER_CLI_EXPORT_NCU_H
#define READER_CLI_EXPORT_NCU_H

#include "reader/cli/cli.h"

/* Writes the kernel launches of the report, and prints on stderr what could not be told of them.
 * `symbol_path` as in symbols.h. 0 or a negative errno. */
int export_ncu(FILE *out, struct cli_report *r, const struct contents_visitor *visitor,
	const char *symbol_path, bool no_symbols);

#endif
