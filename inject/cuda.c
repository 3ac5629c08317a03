/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - where CUDA lets us in: before the program loads the driver's library, however its CUDA
 * runtime is linked; in the constructor, where it is linked with it; and when the driver asks for a
 * tool. Each is one call of tracer/cuda.h.
 */
#define _GNU_SOURCE
#include "inject/fn.h"

#include <dlfcn.h>
#include <link.h>

#include "common/text.h"
#include "inject/cuda.h"
#include "tracer/cuda.h"
#include "tracer/libc.h"

#define DRIVER "libcuda.so"

/* libcuda.so.1, and what it is linked from; not libcudart.so or libcudadebugger.so. */
static bool is_driver(const char *file)
{
	return file && text_begins(text_base_name(file), DRIVER);
}

/* entry.S: called with what dlopen() was called with; the real one comes next, by a jump, so that
 * it sees its caller. Who only asks whether the driver is loaded (RTLD_NOLOAD) gets the same answer
 * as without us. */
__attribute__((visibility("hidden"))) void *dlopen_before(const char *file, int flags);
void *dlopen_before(const char *file, int flags)
{
	static void *real_dlopen;
	relocate_check();
	int error = errno;
	if (__builtin_expect(!real_dlopen, 0))
		real_dlopen = libc.dlsym(RTLD_NEXT, "dlopen");
	if (__builtin_expect(is_driver(file) && !(flags & RTLD_NOLOAD) && cuda_is_wanted(), 0))
		cuda_start(file);
	errno = error;
	return real_dlopen;
}

static int driver_look(struct dl_phdr_info *info, size_t bytes, void *user)
{
	(void)bytes, (void)user;
	return is_driver(info->dlpi_name);
}

void cuda_linked(void)
{
	if (cuda_is_wanted() && session.iterate_phdr && session.iterate_phdr(driver_look, NULL))
		cuda_start(NULL);
}

/* The driver's own question for a tool, answered to it alone. */
bool cuda_asks_for_tool(const void *caller)
{
	Dl_info info;
	return cuda_is_wanted() && libc.dladdr(caller, &info) && is_driver(info.dli_fname);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* The driver calls this while it starts, before any context. */
int InitializeInjection(void)
{
	relocate_check();
	int error = errno;
	cuda_start(NULL);
	errno = error;
	return 1;
}
