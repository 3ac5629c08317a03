/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_all.c - closes all descriptors from 3 on, by close_range, closefrom, a loop of close, and
 * checks the numbers of its own.
 *
 * The tracer must occupy no descriptor of the program: new descriptors get the numbers they would
 * get untraced, files contain what the program wrote and nothing else, and tracing continues after
 * everything has been closed (all calls are in the report).
 */
#include "app.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CALLS 10

static int zero_open(void)
{
	return open("/dev/zero", O_RDONLY);
}

static void work(int fd)
{
	char byte;
	for (int i = 0; i < CALLS; i++)
		require(pread(fd, &byte, 1, 0) == 1, "pread");
}

static int open_descriptors(void)
{
	int count = 0;
	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

static void numbers_are_ours(const char *text)
{
	int first = zero_open(), second = zero_open();
	check(first == 3 && second == 4, text);
	work(first);
	close(first);
	close(second);
}

static void file_holds_only_ours(void)
{
	char text[16] = "";
	struct stat info;
	int fd = memfd_create("victim", 0);
	check(fd == 3, "memfd_create gets 3");
	require(write(fd, "hello", 5) == 5, "write");
	work(zero_open());
	require(pread(fd, text, sizeof(text), 0) == 5, "pread of the file");
	check(!fstat(fd, &info) && info.st_size == 5 && !strcmp(text, "hello"),
		"the file holds what was written");
	close_range(3, ~0u, 0);
}

int main(void)
{
	check(open_descriptors() == 3, "three descriptors at the start");
	numbers_are_ours("3 and 4 at the start");
	close_range(3, ~0u, 0);
	numbers_are_ours("3 and 4 after close_range");
	closefrom(3);
	numbers_are_ours("3 and 4 after closefrom");
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	numbers_are_ours("3 and 4 after a loop of close");
	file_holds_only_ours();
	int out = dup(1), err = dup(2);
	check(out == 3 && err == 4, "dup gets 3 and 4");
	close(0);
	close(2);
	check(zero_open() == 0, "0 is free after close");
	check(zero_open() == 2, "2 is free after close");
	check(dup2(err, 2) == 2, "dup2");
	check(open_descriptors() == 5, "as many descriptors at the end as the program opened");
	say("expect %d pread", CALLS * 5 + 1);
	return app_result();
}
