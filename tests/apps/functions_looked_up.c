/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fexceptions -Wno-pedantic
// LINK: -ldl
/*
 * functions_looked_up.c - calls functions whose addresses it got from dlsym(), also from code that
 * has no unwind tables and from several threads at a time; prints what it got.
 */
#define _GNU_SOURCE
#include "functions.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 200

static void *library;

static void *found(const char *name)
{
	void *address = dlsym(library, name);
	if (!address)
		exit(77);
	return address;
}

static void named(const char *name)
{
	Dl_info info, more;
	struct link_map *map = NULL;
	void *address = found(name);
	printf("%s twice %d", name, address == found(name));
	if (dladdr(address, &info))
		printf(", %s in %s", info.dli_sname, strrchr(info.dli_fname, '/') + 1);
	if (dladdr1(address, &more, (void **)&map, RTLD_DL_LINKMAP))
		printf(", %d", map == library && more.dli_saddr == info.dli_saddr);
	printf("\n");
}

static void arguments(void)
{
	long (*ints)(long, long, long, long, long, long, long, long, long, long) = found("f_ints");
	long (*big)(struct f_big, int) = found("f_big_argument");
	double (*variadic)(int, ...) = found("f_variadic");
	struct f_big argument;
	for (int i = 0; i < 40; i++)
		argument.value[i] = i;
	printf("%ld %ld %g\n", ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), big(argument, 5),
		variadic(4, 1L, 2.5, 3L, 4.5));
}

/* Failures and variables are as they are without a tracer. */
static void others(void)
{
	int *variable = found("f_variable"), value = *variable;
	*variable = 9;
	printf("variable %d %d\n", value, *(int *)found("f_variable"));
	*variable = 5;
	dlerror();
	void *none = dlsym(library, "f_none");
	const char *cause = dlerror(), *again = dlerror();
	printf("none %d %d %d\n", none == NULL, cause && strstr(cause, "f_none"), again == NULL);
	printf("default %d\n", dlsym(RTLD_DEFAULT, "f_ints") == NULL);
}

#ifdef __x86_64__
/* Code that a compiler at run time could make: 30 arguments, 24 of them on the stack. */
static void generated(void)
{
	unsigned char code[256] = {0x48, 0x83, 0xec, 8}, *at = code + 4;
	static const unsigned char registers[6][2] = {
		{0, 0xbf}, {0, 0xbe}, {0, 0xba}, {0, 0xb9}, {0x41, 0xb8}, {0x41, 0xb9}};
	void *function = found("f_many");
	for (int i = 30; i > 6; i--) {
		*at++ = 0x6a; /* push */
		*at++ = (unsigned char)i;
	}
	for (int i = 0; i < 6; i++) {
		if (registers[i][0])
			*at++ = registers[i][0];
		*at++ = registers[i][1];
		memcpy(at, &(int){i + 1}, 4);
		at += 4;
	}
	memcpy(at, "\x48\xb8", 2); /* mov, call, add, ret */
	memcpy(at + 2, &function, 8);
	memcpy(at + 10, "\xff\xd0\x48\x81\xc4\xc8\0\0\0\xc3", 10);
	void *room = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		exit(1);
	memcpy(room, code, sizeof(code));
	printf("generated %ld\n", ((long (*)(void))room)());
}
#else
static void generated(void)
{
}
#endif

static void *thread_main(void *path)
{
	long sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		int (*identity)(int) = found("f_identity");
		sum += identity(i);
		int (*which)(void) = copy ? dlsym(copy, "f_which") : NULL;
		sum += which ? which() : 0;
		if (copy)
			dlclose(copy);
	}
	return (void *)sum;
}

static void threads(const char *folder)
{
	char path[4096];
	pthread_t thread[4];
	long sum = 0;
	snprintf(path, sizeof(path), "%s/libfunctions_copy.so", folder);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, thread_main, path))
			exit(1);
	for (int i = 0; i < 4; i++) {
		void *result;
		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	printf("threads %ld\n", sum);
}

int main(int argc, char **argv)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/libfunctions.so", argc > 1 ? argv[1] : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 77;
	named("f_ints");
	arguments();
	others();
	generated();
	threads(argc > 1 ? argv[1] : ".");
	return 0;
}
