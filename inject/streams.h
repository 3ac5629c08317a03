/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - the entry of the source `streams`.
 */
#ifndef INJECT_STREAMS_H
#define INJECT_STREAMS_H

/* Have the wrappers of write() and writev(), and the C library's stdio, pass what they have written
 * to the source. Once, in the constructor, after real_open(); changes nothing before that. */
void streams_listen(void);

#endif
