/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - nsys's tables of generic events: marks with a payload of named fields, samples of
 * counters, and lines of output that a regular expression found.
 *
 * Until 2024 nsys had each event as a JSON object whose values are texts; since then numbers have a
 * row each in GENERIC_EVENT_DATA. The newest generation gets both. One thread; allocates.
 */
#ifndef READER_EXPORT_GENERIC_EVENTS_H
#define READER_EXPORT_GENERIC_EVENTS_H

struct sqlite_export;

/* Write the tables, if there is an event. StringIds must be complete but for texts that are added
 * here. Returns 0 or a negative errno. */
int generic_events_write(struct sqlite_export *x);

#endif
