/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_fork - NVTX on both sides of a fork, names made before it, and ranges across it.
 *
 * Promise: the child's events carry the names; a range open at the fork is the parent's alone.
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
		nvtxRangeEnd(id); /* the parent's */
		nvtxDomainMarkEx(domain, &e);
		int level = nvtxDomainRangePushEx(domain, &e);
		check(level == (TRACED ? 0 : NVTX_NO_PUSH_POP_TRACKING), "the child begins anew");
		nvtxDomainRangePop(domain);
		_exit(app_result());
	}
	check(waitpid(pid, &status, 0) == pid && !status, "the child");
	nvtxRangeEnd(id);
	nvtxDomainRangePop(domain);
	return app_result();
}
