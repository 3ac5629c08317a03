/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - facts about machine and run in the report: the Session entry and the names in block
 * headers.
 */
#ifndef WRITER_SESSION_H
#define WRITER_SESSION_H

struct writer;

/* Fill the names for block headers. If block 0 is not in the file yet, also add the Session entry
 * and fill w->report.session, which stays valid. One thread; reads /proc and /sys. */
void session_put(struct writer *w);

#endif
