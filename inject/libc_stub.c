/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_stub.c - the functions that libtrace.so takes from the C library: it is linked with this
 * stub.
 *
 * Its references then have no versions, and the loader binds each to the oldest one, which is the
 * same function. So a glibc as old as 2.17 loads the library; linked with the C library of the
 * build, it would need that library's version. A use of a function that is missing here does not
 * link; functions that not every C library has are in tracer/base/libc.h.
 */
#define SYMBOL(name)                                            \
	__attribute__((visibility("default"))) void name(void); \
	void name(void)                                         \
	{                                                       \
	}
#define VARIABLE(name) __attribute__((visibility("default"))) char **name;

VARIABLE(environ)        /* the environment of children */
SYMBOL(__errno_location) /* errno, kept around every hook */
SYMBOL(getauxval)        /* no call into the kernel, no state */
SYMBOL(pthread_attr_getstacksize)
SYMBOL(pthread_self)
/* called by code that compilers generate */
SYMBOL(memcpy)
SYMBOL(memmove)
SYMBOL(memset)
SYMBOL(memcmp)
