/* SPDX-License-Identifier: Apache-2.0 */
// NEEDS: nvtx
/*
 * nvtx_open.c - ends while ranges are open, in the way that the argument names.
 *
 * The ranges must be in the report, unfinished, including the ranges of a thread that has ended.
 */
#include "app.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>

static nvtxRangeId_t id;

static void *other(void *unused)
{
	id = nvtxRangeStartA("started by another thread");
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	nvtxEventAttributes_t e = {0};
	pthread_t thread;
	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.category = 5;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = nvtxDomainRegisterStringA(NULL, "registered and open");
	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	nvtxRangePushA("outer and open");
	nvtxRangePushEx(&e);
	for (int i = 0; i < 1000; i++) {
		nvtxRangePushA("closed");
		nvtxRangePop();
		nvtxRangeEnd(nvtxRangeStartA("ended"));
	}
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", NULL);
	return 0;
}
