/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp.c - the entry of the source `openmp`: a runtime of OpenMP asks for a tool when it is
 * initialized, at the program's first use of OpenMP.
 *
 * The runtime holds its lock then, and takes the first ompt_start_tool() of the process, which is
 * ours. If the user or the program has a tool, it gets what it would have got without us.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include "tracer/core/diagnostic.h"
#include "tracer/openmp/openmp.h"

extern char **environ;

typedef struct ompt_start_tool_result *start_tool(unsigned version, const char *runtime);

__attribute__((visibility("default"))) start_tool ompt_start_tool;

static void finalize(union ompt_data *tool)
{
	(void)tool;
}

/* Return the result of the next ompt_start_tool(), which is that of a tool, or of the runtime
 * itself, which looks for others. */
static struct ompt_start_tool_result *others(unsigned version, const char *runtime)
{
	start_tool *next = (start_tool *)(uintptr_t)real_next("ompt_start_tool");
	return next ? next(version, runtime) : NULL;
}

static struct ompt_start_tool_result *ours_or_not(bool other)
{
	static struct ompt_start_tool_result result = {omp_initialize, finalize, {0}};
	const char *libraries = environ ? config_lookup(environ, "OMP_TOOL_LIBRARIES") : NULL;
	if (session.state != SESSION_ON || !session.config.openmp)
		return NULL;
	if (!other && !(libraries && *libraries) && !real_next("__tsan_init"))
		return &result;
	diagnostic_line(
		"OpenMP is not recorded in a process: it has another tool of OpenMP "
		"(OMP_TOOL_LIBRARIES, ThreadSanitizer, or an ompt_start_tool() of its own)");
	return NULL;
}

struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
	relocate_check();
	int error = errno;
	if (session.state == SESSION_NEW)
		preload_early();
	struct ompt_start_tool_result *other = others(version, runtime);
	struct ompt_start_tool_result *result = ours_or_not(other != NULL);
	errno = error;
	return other ? other : result;
}
