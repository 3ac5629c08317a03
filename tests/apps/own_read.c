/* SPDX-License-Identifier: Apache-2.0 */
// LINK: -ldl
/*
 * own_read.c - a program that defines read and write itself and finds the next ones by
 * dlsym(RTLD_NEXT).
 *
 * Interposition must chain: the program's own definition is called, it reaches the next
 * definition, and results are right.
 */
#include "app.h"

#include <dlfcn.h>
#include <fcntl.h>

static int own_reads, own_closes;

ssize_t read(int fd, void *buffer, size_t size)
{
	static ssize_t (*next)(int, void *, size_t);
	if (!next)
		next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	own_reads++;
	return next(fd, buffer, size);
}

int close(int fd)
{
	static int (*next)(int);
	if (!next)
		next = (int (*)(int))dlsym(RTLD_NEXT, "close");
	own_closes++;
	return next(fd);
}

int main(void)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 10; i++)
		require(read(fd, &byte, 1) == 1, "read");
	close(fd);
	check(own_reads == 10 && own_closes == 1,
		"the program's own functions were called, and by nobody else");
	check(dlsym(RTLD_DEFAULT, "read") == (void *)read,
		"dlsym(RTLD_DEFAULT) finds the program's");
	say("expect 10 read");
	return app_result();
}
