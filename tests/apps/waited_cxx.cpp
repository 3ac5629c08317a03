// SPDX-License-Identifier: Apache-2.0
// CFLAGS: -std=c++20
/*
 * waited_cxx.cpp - programs of C++ whose critical path is known: the stages of stages.h.
 *
 * Usage: waited_cxx condition|future|semaphore|latch
 */

#include <condition_variable>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>

#include "stages.h"

static std::mutex mutex;
static std::condition_variable condition;
static bool ready;

/* The main thread waits until another one has done its stage. */
static void condition_wait()
{
	std::thread thread([] {
		third();
		std::lock_guard<std::mutex> lock(mutex);
		ready = true;
		condition.notify_one();
	});
	{
		std::unique_lock<std::mutex> lock(mutex);
		condition.wait(lock, [] { return ready; });
	}
	first();
	thread.join();
}

/* Futures, semaphores and latches, for which libstdc++ waits by a system call. */
static void futex_wait(const char *what)
{
	std::promise<int> promise;
	std::future<int> result = promise.get_future();
	std::counting_semaphore<> semaphore(0);
	std::latch latch(1);
	std::thread thread([&] {
		third();
		if (!std::strcmp(what, "future"))
			promise.set_value(1);
		else if (!std::strcmp(what, "semaphore"))
			semaphore.release();
		else
			latch.count_down();
		aside();
	});
	if (!std::strcmp(what, "future"))
		result.get();
	else if (!std::strcmp(what, "semaphore"))
		semaphore.acquire();
	else
		latch.wait();
	first();
	thread.join();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	second(); /* before anything else */
	aside();
	if (!std::strcmp(mode, "condition"))
		condition_wait();
	else
		futex_wait(mode);
	return 0;
}
