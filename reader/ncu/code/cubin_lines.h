/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubin_lines.h - the line tables of a cubin, for cubin.c, and the paths in them. One thread;
 * allocates.
 */
#ifndef READER_NCU_CODE_CUBIN_LINES_H
#define READER_NCU_CODE_CUBIN_LINES_H

#include "reader/ncu/code/cubin.h"

/* Read .debug_line, .nv_debug_line_sass and .nv_debug_ptx_txt into `c`; malformed units are
 * skipped. Returns 0 or -ENOMEM. */
int cubin_lines_read(struct cubin *c);

/* Normalize a path in place as Nsight Compute does, by its text alone: one '/' between components
 * (also for '\\'), no ".", and no ".." after another component. */
void cubin_path_normalize(char *path);

#endif
