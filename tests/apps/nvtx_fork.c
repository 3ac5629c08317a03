/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_fork.c - makes NVTX calls in parent and child of a fork, with names that were registered and
 * ranges that were begun before it.
 *
 * The child's events must have the names; a range that is open at the fork must belong only to the
 * parent.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>

#define TRACED (getenv("NVTX_INJECTION64_PATH") != NULL)

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("forked domain");
	nvtxEventAttributes_t e = {0};
	int status = -1;
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = nvtxDomainRegisterStringA(domain, "made before the fork");
	nvtxDomainRangePushEx(domain, &e);
	nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &e);
	pid_t pid = fork();
	if (pid == 0) {
		nvtxRangeEnd(id); /* the range of the parent */
		nvtxDomainMarkEx(domain, &e);
		int level = nvtxDomainRangePushEx(domain, &e);
		check(level == (TRACED ? 0 : NVTX_NO_PUSH_POP_TRACKING),
			"the child begins at level 0");
		nvtxDomainRangePop(domain);
		_exit(app_result());
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child");
	nvtxRangeEnd(id);
	nvtxDomainRangePop(domain);
	return app_result();
}
