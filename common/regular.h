/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regular.h - opens files whose names others have chosen.
 *
 * A path in a report or of a traced process may name a pipe, which would block, or a device, where
 * opening alone may do something (a watchdog resets the machine). So it is looked at before it is
 * opened, by a descriptor, which nobody can exchange in between.
 */
#ifndef COMMON_REGULAR_H
#define COMMON_REGULAR_H

/* Opens a regular file for reading. Returns its descriptor (O_CLOEXEC) or a negative errno;
 * -EINVAL: something else has the name. Links are followed. */
int regular_open(const char *path);

#endif
