/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - getenv() and secure_getenv(): the variables that are answered, a row each.
 */
#define _GNU_SOURCE
#include "inject/environment.h"

#include "inject/fn.h"

#include "common/text.h"

static __attribute__((cold, noinline)) char *answer(
	const char *name, char *theirs, const void *caller)
{
	static const struct {
		char name[24];
		bool starts_us; /* also in a constructor before ours; not in the CUDA driver's */
		char *(*answer)(char *theirs, const void *caller);
	} rows[] = {{"NVTX_INJECTION64_PATH", true, nvtx_tool_path},
		{"CUDA_INJECTION64_PATH", false, cuda_tool_path},
		{"ACC_PROFLIB", true, openacc_tool_paths},
		{"NCCL_PROFILER_PLUGIN", true, nccl_tool_path}};
	int error = errno;
	relocate_check();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_equal(name, rows[i].name)) {
			if (rows[i].starts_us && session.state == SESSION_NEW)
				preload_early();
			theirs = rows[i].answer(theirs, caller);
			break;
		}
	errno = error;
	return theirs;
}

/* Return true if a variable of this name may be answered: most are not looked at further. */
static inline bool may_be_answered(const char *name)
{
	switch (name[0]) {
	case 'N':
		return (name[1] == 'V' && name[2] == 'T') || text_begins(name, "NCCL_P");
	case 'C':
		return name[1] == 'U' && name[2] == 'D';
	case 'A':
		return name[1] == 'C' && name[2] == 'C';
	default:
		return false;
	}
}

WRAPPER(char *, getenv, (const char *t_name))
{
	char *value = REAL(getenv)(t_name);
	if (__builtin_expect(may_be_answered(t_name), 0))
		return answer(t_name, value, __builtin_return_address(0));
	return value;
}

WRAPPER(char *, secure_getenv, (const char *t_name))
{
	char *value = REAL(secure_getenv)(t_name);
	if (__builtin_expect(may_be_answered(t_name), 0))
		return answer(t_name, value, __builtin_return_address(0));
	return value;
}
