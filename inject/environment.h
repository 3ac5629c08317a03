/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - questions to the environment that are answered: variables by which a library asks
 * for a tool.
 *
 * Nothing is put into the environment: libraries whose constructors run before ours find us, and so
 * do programs that have cleared their environment, and children inherit nothing.
 */
#ifndef INJECT_ENVIRONMENT_H
#define INJECT_ENVIRONMENT_H

/* Answer the question of code at `caller` for a variable whose value is `theirs` (NULL = unset):
 * return that, or our answer. Any thread; errno is kept. */
char *nvtx_tool_path(char *theirs, const void *caller);
char *cuda_tool_path(char *theirs, const void *caller);
char *nccl_tool_path(char *theirs, const void *caller);
char *openacc_tool_paths(char *theirs, const void *caller);

#endif
