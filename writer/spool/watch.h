/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - notice of the end of processes, by a thread that waits for their pidfds.
 *
 * The writer sleeps on a futex, which the processes of the tree wake; no system call waits for
 * that and for descriptors. So a thread of the writer waits for the descriptors, takes the time of
 * each end, and changes the futex. It touches nothing else. Where the thread or a pidfd is refused,
 * or more than WATCH_MAX processes live, the writer polls as before (liveness.h).
 */
#ifndef WRITER_SPOOL_WATCH_H
#define WRITER_SPOOL_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/tree.h"
#include "writer/spool/spools.h"

#define WATCH_MAX 1024u

struct watch {
	int epoll_fd; /* -1 = nothing is watched */
	int stop_fd;  /* an eventfd that ends the thread */
	pthread_t thread;
	uint32_t notices; /* atomic: changes when a process has ended */
	pthread_mutex_t lock;
	struct tree_control *control;
	struct watch_end {
		uint32_t id; /* Process.id of the user of this row; 0 = free */
		struct clock_point point;
		bool has_ended;
	} ends[WATCH_MAX];
};

/* Start the thread, which changes control->wake at each end, until watch_stop(). `w` must stay
 * where it is until then. */
void watch_start(struct watch *w, struct tree_control *control);

/* End the thread: nothing is watched from now on. */
void watch_stop(struct watch *w);

/* Watch the process of the spool, which has a pidfd, unless it is watched. */
void watch_add(struct watch *w, struct spool *spool);

/* Copy the time of the end of a watched process to spool->ended. Return true if it has ended. */
bool watch_has_ended(struct watch *w, struct spool *spool);

/* Forget the spool, before its pidfd is closed. */
void watch_remove(struct watch *w, struct spool *spool);

#endif
