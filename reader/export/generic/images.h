/* SPDX-License-Identifier: Apache-2.0 */
/*
 * images.h - program images of processes, by which the writes of a stream are ordered.
 *
 * A position in LIBTRACE_STREAM_WRITE counts from the start of the program image (common/schema/
 * events.def), and exec starts another one under the same globalPid. So the writes of a process are
 * in order by image, then by position. Images of a process do not overlap: the image of a write is
 * the last one that started before it.
 *
 * Memory: a row of a temporary table for each image in reports with such writes. One thread.
 */
#ifndef READER_EXPORT_GENERIC_IMAGES_H
#define READER_EXPORT_GENERIC_IMAGES_H

struct sqlite_export;

/* SQL expression: start of the image that made a row `w` of LIBTRACE_STREAM_WRITE; 0 = not known.
 * Valid after images_put(), which has been called if there is such a row. */
#define IMAGE_SQL                                                                             \
	"ifnull((SELECT max(i.ns) FROM temp.LIBTRACE_IMAGE AS i WHERE i.pid = w.globalTid & " \
	"~0xffffff AND i.ns <= w.timestamp), 0)"

/* Keep the images of the current report if there are writes; call it after the rows of the report's
 * events. Returns 0 or a negative errno. */
int images_put(struct sqlite_export *x);

#endif
