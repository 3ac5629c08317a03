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

/* Return the n-th variable, from 0, that begins with LIBTRACE_ and is not in env.def, such as a
 * misspelled option, with its value; NULL = there are no more. */
const char *env_unknown(char **envp, uint32_t n);

#endif
