/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regular.h - opens files whose names others have chosen, but only regular files.
 *
 * A path in a report or of a traced process may name a pipe, which would block, or a device, where
 * merely opening it may have an effect (a watchdog resets the machine). So its type is checked
 * through an O_PATH descriptor, and the file behind this descriptor is opened. If /proc is not
 * mounted, the path is opened again, and another file may have replaced the checked one.
 */
#ifndef COMMON_REGULAR_H
#define COMMON_REGULAR_H

/* Open a regular file for reading. Return its descriptor (O_CLOEXEC) or a negative errno; -EINVAL
 * if it is not a regular file. Symbolic links are followed. */
int regular_open(const char *path);

#endif
