/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc.h - what libtrace.so calls of the C library and does not find in every one.
 *
 * libtrace.so is linked without versions of symbols (inject/libc_stub.c), so that it loads whatever
 * C library a container has: a library that the loader refuses would keep the program from
 * starting. glibc before 2.34 has these functions in libdl and libpthread, which a program without
 * threads or plugins does not load; other C libraries lack some altogether.
 */
#ifndef TRACER_LIBC_H
#define TRACER_LIBC_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

struct libc {
	void *(*dlsym)(void *library, const char *name);
	void *(*dlvsym)(void *library, const char *name, const char *version);
	int (*dladdr)(const void *address, Dl_info *info);
	int (*pthread_key_create)(pthread_key_t *key, void (*destructor)(void *));
	int (*pthread_setspecific)(pthread_key_t key, const void *value);
	int (*pthread_attr_getstacksize)(const pthread_attr_t *attributes, size_t *ret_bytes);
	void (*pthread_testcancel)(void);
	int (*on_exit)(void (*handler)(int status, void *user), void *user);
};

/* NULL = the program's C library has not got it, or not yet: see libc_complete(). */
extern struct libc libc;

/* Is all of the above there, and what the program may call through us? Nothing can be recorded
 * without. Any thread. */
bool libc_is_complete(void);

/*
 * Loads the libraries that glibc 2.34 took in, where the C library is older and the program has
 * left some out: whatever it or a plugin of it uses later is then found behind us. May allocate and
 * take the loader's lock: in our constructor, never in a call, which may be an allocator's.
 */
void libc_complete(void);

#endif
