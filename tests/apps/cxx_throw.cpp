/* SPDX-License-Identifier: Apache-2.0 */
// CFLAGS: -fnon-call-exceptions
/*
 * cxx_throw.cpp - C++ exceptions that pass through wrapped calls.
 *
 * Exceptions must propagate as without the tracer: thrown by a signal handler out of read, nanosleep
 * and pthread_cond_wait, through qsort, out of a function that a thread's start function calls, and
 * by std::call_once and std::async. Destructors on the way must run, also on thread cancellation.
 */
#include "app.h"

#include <condition_variable>
#include <csignal>
#include <future>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <thread>
#include <time.h>

static int destroyed;
struct Guard {
	~Guard()
	{
		destroyed++;
	}
};

static int pipe_fd[2];

static void thrower(int)
{
	throw std::runtime_error("from the handler");
}

static void arm()
{
	struct itimerval soon = {{0, 0}, {0, 5000}};
	setitimer(ITIMER_REAL, &soon, nullptr);
}

static void in_read()
{
	char byte;
	if (read(pipe_fd[0], &byte, 1) != 9)
		say("FAIL: read returned");
}

static void in_nanosleep()
{
	struct timespec long_time = {100, 0};
	nanosleep(&long_time, nullptr);
}

static void thrown_out_of(const char *name, void (*function)())
{
	int before = destroyed;
	bool caught = false;
	try {
		Guard guard;
		arm();
		function();
	} catch (const std::runtime_error &e) {
		caught = !strcmp(e.what(), "from the handler");
	}
	check(caught && destroyed == before + 1, name);
}

static int compare(const void *, const void *)
{
	throw 42;
}

static void through_qsort()
{
	int numbers[] = {3, 1, 2}, caught = 0;
	try {
		qsort(numbers, 3, sizeof(int), compare);
	} catch (int n) {
		caught = n;
	}
	check(caught == 42, "thrown through qsort");
}

static void through_call_once()
{
	static std::once_flag flag;
	int runs = 0;
	for (int i = 0; i < 2; i++)
		try {
			std::call_once(flag, [&] {
				if (!runs++)
					throw 1;
			});
		} catch (int) {
		}
	check(runs == 2, "std::call_once is tried again after an exception");
}

static void through_async()
{
	auto future =
		std::async(std::launch::async, [] { throw std::logic_error("in another thread"); });
	bool caught = false;
	try {
		future.get();
	} catch (const std::logic_error &) {
		caught = true;
	}
	check(caught, "std::async passes the exception to the waiting thread");
}

static void *canceled(void *)
{
	Guard guard;
	in_read();
	return nullptr;
}

static void cancellation_destroys()
{
	int before = destroyed;
	pthread_t thread;
	void *result = nullptr;
	pthread_create(&thread, nullptr, canceled, nullptr);
	app_sleep_ms(20);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	check(result == PTHREAD_CANCELED && destroyed == before + 1,
		"cancellation runs C++ destructors");
}

static void timed_waits()
{
	std::mutex m;
	std::condition_variable c;
	std::unique_lock<std::mutex> lock(m);
	check(c.wait_for(lock, std::chrono::milliseconds(5)) == std::cv_status::timeout,
		"condition_variable::wait_for times out");
	std::timed_mutex t;
	t.lock();
	bool got = true;
	std::thread([&] { got = t.try_lock_for(std::chrono::milliseconds(5)); }).join();
	check(!got, "timed_mutex::try_lock_for times out");
}

int main()
{
	struct sigaction action = {};
	action.sa_handler = thrower;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGALRM, &action, nullptr);
	if (pipe(pipe_fd))
		return 1;
	thrown_out_of("thrown out of read", in_read);
	thrown_out_of("thrown out of nanosleep", in_nanosleep);
	for (int i = 0; i < 20; i++)
		thrown_out_of("thrown out of read, again", in_read);
	through_qsort();
	through_call_once();
	through_async();
	cancellation_destroys();
	timed_waits();
	return app_result();
}
