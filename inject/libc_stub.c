/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libc_stub.c - what libtrace.so takes from the C library; it is linked with this in place of it.
 *
 * Its references then have no versions, and the loader binds each to the oldest: they are the same
 * functions. A glibc as old as 2.17 loads the library, where linking with the C library of the
 * build would ask for that one's version. What is missing here does not link; what not every C
 * library has is in tracer/libc.h.
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
/* what compilers invent */
SYMBOL(memcpy)
SYMBOL(memmove)
SYMBOL(memset)
SYMBOL(memcmp)
