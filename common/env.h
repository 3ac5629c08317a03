/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - variables of the environment that look like options of libtrace.
 *
 * Used in the traced process and by `trace run`; constant data, no libc call: any thread,
 * async-signal-safe.
 */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H

#include <stdint.h>

/* Replace variables in a text by the options of `trace run` that set them, LIBTRACE_CUPTI by
 * --cupti, where bit n of `rows` is set for row n of env.def. An option is the shorter name. */
void env_name_options(char *text, uint64_t rows);

/* Return the n-th variable, from 0, that begins with LIBTRACE_ and is not in env.def, such as a
 * misspelled option, with its value; NULL = there are no more. */
const char *env_unknown(char **envp, uint32_t n);

#endif
