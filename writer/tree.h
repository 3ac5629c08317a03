/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - common steps of following a live tree and recovering a dead tree: control page,
 * discovery, passes, ends of processes.
 *
 * Functions that return int return 0 or a negative errno as writer_flush() does. One thread.
 */
#ifndef WRITER_TREE_H
#define WRITER_TREE_H

#include <stdint.h>

#include "writer/base/writer.h"

/* Map the control page. If there is none, the writer continues with a private, empty page, and this
 * returns -ENOENT or -EINVAL. */
int tree_open_control(struct writer *w);

/* Look for new spools. Return their number or a negative errno. */
int tree_discover(struct writer *w);

/* Look for new lanes. Return the number of bytes in all lanes; *ret_fullest is the number in the
 * fullest lane. */
uint64_t tree_look(struct writer *w, uint64_t *ret_fullest);

/* Read the clocks, and add everything that tree_look() saw to blocks. */
int tree_drain(struct writer *w);

/* Read the clocks, and add all records of one spool to blocks. */
int tree_drain_spool(struct writer *w, struct spool *spool);

/* Add everything of a dead process to blocks: the rest of its lanes, rows for events without a
 * record, the receipt. Continues at the previous position when called again. */
int tree_end_spool(struct writer *w, struct spool *spool);

/* Notify a process that all its recorded events are in the report. Do not notify the first process
 * of our pid namespace, which waits for the end of the report. */
void tree_notify_drained(struct spool *spool);

/* End every dead process, write the block, and drop the spools of these processes. */
int tree_end_dead(struct writer *w);

/* Remove control page and folder. */
void tree_remove(struct writer *w);

#endif
