/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * dlopen_storm.c - opens and closes a library again and again from several threads; its constructor
 * calls wrapped functions and joins a thread.
 *
 * There must be no deadlock on the loader's lock (a wrapper that resolves symbols late would
 * deadlock), libraries must be found through the caller's RUNPATH as without the tracer, and every
 * call must be in the report.
 */
#include "app.h"

#include <dlfcn.h>
#include <pthread.h>

#define THREADS 3
#define ROUNDS 40
static char path[4200];
static int loads;

static void *storm(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *library =
			dlopen(path, i % 2 ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_GLOBAL);
		if (!require(library != NULL, "dlopen"))
			return unused;
		int (*value)(void) = (int (*)(void))dlsym(library, "plugin_value");
		require(value && value() == 42, "the constructor's calls worked");
		dlclose(library);
		__atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

static void by_name(void)
{
	void *library =
		dlopen("libplugin.so", RTLD_NOW); /* no slash: through this program's RUNPATH */
	check(library != NULL, "dlopen by name finds the RUNPATH of its caller");
	check(dlopen("libnothing-of-this-name.so", RTLD_NOW) == NULL &&
			strstr(dlerror(), "libnothing"),
		"dlerror names what is missing");
	if (library)
		dlclose(library);
}

int main(void)
{
	pthread_t thread[THREADS];
	ssize_t length = readlink("/proc/self/exe", path, 4095);
	path[length > 0 ? length : 0] = 0;
	strcpy(strrchr(path, '/'), "/libplugin.so");
	by_name();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, storm, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	check(loads == THREADS * ROUNDS, "every dlopen and dlclose came back");
	return app_result();
}
