/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - time window of a report, in the syntax of nsys: "1s/2500ms", or an NVTX range. */
#ifndef READER_SQL_WINDOW_H
#define READER_SQL_WINDOW_H

#include "reader/sql/views.h"

/* Parse "[START]/[END]": numbers with units (ns us ms s m h; none = ns), several of which add up.
 * Returns false if the text has another form. */
bool window_parse(const char *text, struct sql_window *ret_window);

/* Find the range "NAME[@DOMAIN][/INDEX]", by default the first that starts (index 0), and set the
 * times and the process of the window. If the window has a process, only its ranges are considered.
 * Returns 0, or a negative errno with the cause in s->cause; -ENOENT if no range matches. */
int window_of_range(struct sql *s, const char *range, struct sql_window *ret_window);

#endif
