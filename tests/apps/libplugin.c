/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/* libplugin.c - a library to be opened and closed: its constructor and destructor make wrapped
 * calls and start a thread. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *thread_main(void *value)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	*(int *)value = pread(fd, &byte, 1, 0) == 1;
	close(fd);
	return 0;
}

static int loaded;

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	int value = 0;
	thread_main(&loaded);
	if (!pthread_create(&thread, 0, thread_main, &value)) {
		pthread_join(thread, 0); /* this thread holds the loader's lock, and the new
					    thread's first call must not need it */
		loaded += value;
	}
}

__attribute__((destructor)) static void end(void)
{
	int value;
	thread_main(&value);
}

int plugin_value(void)
{
	/* No slash: the library is found through this library's own RUNPATH, or not at all. */
	void *base = dlopen("libplugin_base.so", RTLD_NOW | RTLD_LOCAL);
	int (*base_value)(void) = base ? (int (*)(void))dlsym(base, "plugin_base_value") : 0;
	int value = base_value ? base_value() : 0;
	if (base)
		dlclose(base);
	return loaded + value;
}
