/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.h - `trace export` to the formats of callchain viewers: folded, speedscope,
 * pprof and otlp.
 *
 * One thread.
 */
#ifndef READER_CLI_EXPORT_FLAME_H
#define READER_CLI_EXPORT_FLAME_H

#include <stdbool.h>
#include <stdio.h>

#include "reader/cli/base/input_state.h"
#include "reader/cli/base/options.h"

/* Return whether a format of `trace export` is one of these. */
bool export_is_flame(const char *format);

/* Write the report in `format` and print on stderr what the format
 * cannot store. Returns 0 or a negative errno. */
int export_flame(FILE *out, struct cli_report *r, const struct options *o, const char *format,
	const struct contents_visitor *visitor);

#endif
