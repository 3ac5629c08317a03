/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - the time window that a report is about, as nsys has it: "1s/2500ms", or a range of
 * NVTX.
 */
#ifndef READER_SQL_WINDOW_H
#define READER_SQL_WINDOW_H

#include "reader/sql/views.h"

/* "[START]/[END]": numbers with units (ns us ms s m h; none = ns), several of which add up. false:
 * it is none. */
bool window_parse(const char *text, struct sql_window *ret_window);

/* The range "NAME[@DOMAIN][/INDEX]", the first that starts (index 0) unless told;
 * sets the times. 0 or a negative errno with the cause in s->cause; -ENOENT: there is no such
 * range. */
int window_of_range(struct sql *s, const char *range, struct sql_window *ret_window);

#endif
