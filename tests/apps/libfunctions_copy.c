/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfunctions_copy.c - a library with a function of the same name as one of libfunctions.so, and
 * one that another copy has, too.
 */
#ifndef COPY
#define COPY 1
#endif

int f_identity(int value)
{
	return value + 1000 * COPY;
}

int f_which(void)
{
	return COPY;
}
