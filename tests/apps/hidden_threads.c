/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_threads.c - threads that the C library starts itself: SIGEV_THREAD timers, message queue
 * notification, asynchronous input.
 *
 * The threads must work, and their calls must be traced, although nobody called pthread_create.
 */
#include "app.h"

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t done;
static int zero_fd;

static void notified(union sigval value)
{
	char byte;
	(void)value;
	require(pread(zero_fd, &byte, 1, 0) == 1, "pread");
	sem_post(&done);
}

static void wait_for(int times)
{
	while (times > 0)
		if (!sem_wait(&done))
			times--;
}

static void by_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified};
	struct itimerspec soon = {{0, 2000000}, {0, 2000000}};
	timer_t timer;
	check(!timer_create(CLOCK_MONOTONIC, &event, &timer) &&
			!timer_settime(timer, 0, &soon, NULL),
		"timer with SIGEV_THREAD");
	wait_for(10);
	timer_delete(timer);
}

static void by_aio(void)
{
	char buffer[4][16];
	struct aiocb request[4];
	memset(request, 0, sizeof(request));
	for (int i = 0; i < 4; i++) {
		request[i].aio_fildes = zero_fd;
		request[i].aio_buf = buffer[i];
		request[i].aio_nbytes = 16;
		request[i].aio_sigevent.sigev_notify = SIGEV_THREAD;
		request[i].aio_sigevent.sigev_notify_function = notified;
		require(!aio_read(&request[i]), "aio_read");
	}
	for (int i = 0; i < 4; i++) {
		const struct aiocb *one[] = {&request[i]};
		while (aio_error(&request[i]) == EINPROGRESS)
			aio_suspend(one, 1, NULL);
		require(aio_return(&request[i]) == 16, "aio_return");
	}
	wait_for(4);
	check(1, "asynchronous input");
}

static void by_queue(void)
{
	char name[64];
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified};
	snprintf(name, sizeof(name), "/libtrace-threads-%d", getpid());
	mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
	if (queue == (mqd_t)-1 || mq_notify(queue, &event))
		return;
	check(!mq_send(queue, "x", 1, 0), "message queue notification");
	wait_for(1);
	mq_close(queue);
	mq_unlink(name);
}

int main(void)
{
	zero_fd = open("/dev/zero", O_RDONLY);
	sem_init(&done, 0, 0);
	by_timer();
	by_aio();
	by_queue();
	say("expect-at-least 14 pread");
	return app_result();
}
