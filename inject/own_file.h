/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_file.h - the file of this library, for others that are to load it.
 */
#ifndef INJECT_OWN_FILE_H
#define INJECT_OWN_FILE_H

/* Return our path as the loader knows it: the loader then finds us by this text alone, in any
 * directory. NULL = unknown. Any thread; may take the loader's lock. */
char *own_file(void);

#endif
