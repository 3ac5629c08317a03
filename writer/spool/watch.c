/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - notice of the end of processes, by a thread that waits for their pidfds.
 */
#define _GNU_SOURCE
#include "writer/spool/watch.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/sys.h"

#define STACK_BYTES 65536u
#define EVENTS 64
#define STOP UINT64_MAX /* data of the event that ends the thread */

/* Store the time of the ends, and wake the writer. Rows of processes that were forgotten meanwhile
 * stay. */
static void ends_put(struct watch *w, const struct epoll_event *events, int count)
{
	struct clock_point now;
	clock_point_take(&now);
	pthread_mutex_lock(&w->lock);
	for (int i = 0; i < count; i++) {
		struct watch_end *end = &w->ends[(uint32_t)events[i].data.u64 % WATCH_MAX];
		if (end->id != events[i].data.u64 >> 32)
			continue;
		end->point = now;
		end->has_ended = true;
	}
	__atomic_add_fetch(&w->notices, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&w->control->wake, 1, __ATOMIC_SEQ_CST);
	sys_futex_wake(&w->control->wake, 1);
	pthread_mutex_unlock(&w->lock);
}

static void *watch_run(void *argument)
{
	struct watch *w = argument;
	struct epoll_event events[EVENTS];
	const int epoll_fd = w->epoll_fd;
	for (;;) {
		int count = epoll_wait(epoll_fd, events, EVENTS, -1);
		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++)
			if (events[i].data.u64 == STOP)
				return NULL;
		if (count > 0)
			ends_put(w, events, count);
	}
}

/* Start the thread with all signals blocked: they are for the writer. */
static int thread_start(struct watch *w)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);
	if (error)
		return error;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&w->thread, &attributes, watch_run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static void close_both(struct watch *w)
{
	if (w->stop_fd >= 0)
		close(w->stop_fd);
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	w->epoll_fd = w->stop_fd = -1;
}

void watch_start(struct watch *w, struct tree_control *control)
{
	struct epoll_event stop = {.events = EPOLLIN, .data.u64 = STOP};
	w->control = control;
	pthread_mutex_init(&w->lock, NULL);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->stop_fd < 0 ||
		epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->stop_fd, &stop) || thread_start(w))
		close_both(w);
}

void watch_stop(struct watch *w)
{
	if (w->epoll_fd < 0)
		return;
	eventfd_write(w->stop_fd, 1);
	pthread_join(w->thread, NULL);
	close_both(w);
}

void watch_add(struct watch *w, struct spool *spool)
{
	if (w->epoll_fd < 0 || spool->pidfd < 0 || spool->watch)
		return;
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < WATCH_MAX && !spool->watch; i++)
		if (!w->ends[i].id) {
			w->ends[i] = (struct watch_end){.id = spool->id};
			spool->watch = i + 1;
		}
	pthread_mutex_unlock(&w->lock);
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
		.data.u64 = (uint64_t)spool->id << 32 | (spool->watch - 1)};
	if (spool->watch && epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, spool->pidfd, &event))
		watch_remove(w, spool);
}

bool watch_has_ended(struct watch *w, struct spool *spool)
{
	if (!spool->watch)
		return false;
	pthread_mutex_lock(&w->lock);
	const struct watch_end end = w->ends[spool->watch - 1];
	pthread_mutex_unlock(&w->lock);
	if (end.has_ended)
		spool->ended = end.point;
	return end.has_ended;
}

void watch_remove(struct watch *w, struct spool *spool)
{
	if (!spool->watch)
		return;
	epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, spool->pidfd, NULL);
	pthread_mutex_lock(&w->lock);
	w->ends[spool->watch - 1].id = 0;
	pthread_mutex_unlock(&w->lock);
	spool->watch = 0;
}
