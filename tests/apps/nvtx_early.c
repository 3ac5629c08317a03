/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
// LINK: -lnvtx_early
/*
 * nvtx_early.c - calls NVTX from a library's constructor, and in the program after clearenv() and
 * chdir().
 *
 * Both must be in the report; the environment must contain no variable that the tracer sets for
 * NVTX.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>

extern char **environ;
int nvtx_early_push(void);

int main(void)
{
	int found = 0;
	for (char **e = environ; e && *e; e++)
		found |= !strncmp(*e, "NVTX_", 5);
	check(!found, "nothing for NVTX in the environment");
	clearenv();
	require(!chdir("/"), "chdir");
	check(!getenv("HOME") && !getenv("NVTX_INJECTION"), "getenv finds nothing else");
	nvtxMarkA("after clearenv and chdir");
	nvtx_early_push();
	return app_result();
}
