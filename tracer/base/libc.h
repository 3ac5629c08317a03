/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc.h - functions of the C library that not every C library has.
 *
 * libtrace.so is linked without versions of symbols (inject/libc_stub.c), so that it loads with
 * whatever C library a container has: a library that the loader refuses would keep the program from
 * starting. glibc before 2.34 has these functions in libdl and libpthread, which a program without
 * threads or plugins does not load; other C libraries lack some altogether.
 */
#ifndef TRACER_BASE_LIBC_H
#define TRACER_BASE_LIBC_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct libc {
	void *(*dlsym)(void *library, const char *name);
	void *(*dlvsym)(void *library, const char *name, const char *version);
	int (*dladdr)(const void *address, Dl_info *info);
	int (*pthread_key_create)(pthread_key_t *key, void (*destructor)(void *));
	int (*pthread_setspecific)(pthread_key_t key, const void *value);
	int (*pthread_attr_getstacksize)(const pthread_attr_t *attributes, size_t *ret_bytes);
	void (*pthread_testcancel)(void);
	int (*on_exit)(void (*handler)(int status, void *user), void *user);
	const char *single_threaded; /* 1: the process has one thread */
};

/* A member is NULL if the program's C library does not have the function, or does not have it yet:
 * see libc_complete(). */
extern struct libc libc;

typedef void *(*libc_dlopen_fn)(const char *file, int flags);

/* Return the C library's dlopen(), looked up at the first call: ours is interposed. Any thread, if
 * libc.dlsym is not NULL. */
libc_dlopen_fn libc_dlopen(void);

/* Find the library that has the function, and its file. *ret_library is a handle, and the library
 * then stays loaded; or RTLD_DEFAULT, if the program finds the function `name` (may be NULL) in it:
 * to open a library before its constructors have run would run them out of order. It stays loaded,
 * too: glibc never unloads what it found for RTLD_DEFAULT in a call from a preloaded library.
 * Return false if it is not found. Any thread; takes the loader's lock. */
bool libc_library_of(
	uint64_t function, const char *name, void **ret_library, const char **ret_file);

/* Find a function of the library: *ret_function is a pointer to it, or NULL. Any thread; takes the
 * loader's lock. */
void libc_function_find(void *library, const char *name, void *ret_function);

/* Return the address of a function or variable of the library itself that has `function`, not of
 * the libraries that it needs; 0 = it has none, or the C library cannot tell. Any thread; takes the
 * loader's lock. */
uint64_t libc_find_beside(uint64_t function, const char *name);

/* Forget the error that dlerror() would return to the program: a lookup of ours has failed, in a
 * call of the program that succeeds. */
void libc_error_forget(void);

/* Return true if the C library has all functions above, and all that the program may call through
 * our wrappers. Any thread. */
bool libc_is_complete(void);

/* Return true if the C library has what recording needs: functions that the program does not call
 * yet may be missing. Nothing can be recorded otherwise. Any thread. */
bool libc_is_sufficient(void);

/*
 * Load the libraries that glibc 2.34 has merged into libc, if the C library is older and the
 * program has not loaded them: functions that the program or its plugins use later are then found
 * after our wrappers. May allocate and take the loader's lock: call it in our constructor, never in
 * a traced call, which may come from an allocator.
 */
void libc_complete(void);

#endif
