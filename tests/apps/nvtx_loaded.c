/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * nvtx_loaded.c LIBRARY [nccl] - NVTX in a library that is loaded: libnvToolsExt of NVTX 1 and 2,
 * libnvtx3interop of NVTX 3; with "nccl", NCCL's own annotations.
 *
 * The exit status must be 0, and the report must contain a mark, and a range in a range. NCCL's
 * call may fail without a device.
 */
#include "app.h"

#include <dlfcn.h>

static void *library;

static void *function(const char *name)
{
	void *found = dlsym(library, name);
	check(found != NULL, name);
	return found;
}

int main(int argc, char **argv)
{
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	check(library != NULL, "the library is loaded");
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return app_result();
	}
	if (argc > 2) {
		void *communicator = NULL;
		int (*init)(void **, int, const int *) =
			(int (*)(void **, int, const int *))function("ncclCommInitAll");
		if (init)
			printf("ncclCommInitAll: %d\n", init(&communicator, 1, NULL));
		return app_result();
	}
	void (*mark)(const char *) = (void (*)(const char *))function("nvtxMarkA");
	int (*push)(const char *) = (int (*)(const char *))function("nvtxRangePushA");
	int (*pop)(void) = (int (*)(void))function("nvtxRangePop");
	if (mark && push && pop) {
		mark("a mark");
		check(push("outer") == 0 && push("inner") == 1, "levels of push");
		check(pop() == 1 && pop() == 0, "levels of pop");
	}
	return app_result();
}
