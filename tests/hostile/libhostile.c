/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhostile.c - a library that the hostile program loads and unloads. Its constructor, its
 * destructor and its function make calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

static __thread int own = 41;
static int zero = -1;

__attribute__((constructor)) static void begin(void)
{
	zero = open("/dev/zero", O_RDONLY);
}

__attribute__((destructor)) static void end(void)
{
	close(zero);
}

int hostile_plugin(int times)
{
	char byte = 1;
	while (times-- > 0)
		if (read(zero, &byte, 1) == 1)
			own += byte + 1;
	return own;
}

/* Look functions up from here; what is found depends on that. */
void *hostile_found(const char *name, int next)
{
	void *found = dlsym(next ? RTLD_NEXT : RTLD_DEFAULT, name);
	return found; /* no tail call: this library is the caller */
}
