/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - the formats of files of CodeXL and the Radeon Compute Profiler, by name.
 *
 * No state. Any thread.
 */
#ifndef READER_CODEXL_FORMAT_H
#define READER_CODEXL_FORMAT_H

/* Values of CODEXL_HEADER.format. */
enum codexl_format { CODEXL_TIMELINE, CODEXL_COUNTERS, CODEXL_OCCUPANCY, CODEXL_FORMATS };

/* Return the format for the suffix of a file name; CODEXL_FORMATS = none. */
enum codexl_format codexl_format_of(const char *path);

/* Return the name of a format as in `trace export -t`: the suffix without its dot. */
const char *codexl_format_name(enum codexl_format format);

#endif
