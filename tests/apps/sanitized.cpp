/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.cpp - uses signals, threads, exceptions, pipes and a child; tests/e2e/sanitizers.py
 * compiles it with each sanitizer.
 *
 * With an argument it also has a fault that the sanitizer must find: overflow, freed, leak, race,
 * undefined, uninitialized.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#ifdef OWN_OPTIONS
extern "C" const char *__asan_default_options(void)
{
	return "exitcode=77";
}
#endif

// MemorySanitizer takes the content of an exception for uninitialized: the C++ library is not instrumented.
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define NO_EXCEPTIONS
#endif
#endif

static volatile sig_atomic_t handled;

static void on_signal(int)
{
	handled = handled + 1;
}

static void signals()
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	printf("%d signals\n", (int)handled);
	fflush(stdout);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, shared, sum;
static volatile int ten = 10;
static char *volatile memory;

static void throw_and_catch()
{
#ifndef NO_EXCEPTIONS
	try {
		throw std::runtime_error(std::string(100, 'e'));
	} catch (const std::exception &e) {
		if (strlen(e.what()) != 100)
			abort();
	}
#endif
}

static void work(int times)
{
	int fds[2];
	char byte = 0;
	if (pipe(fds))
		abort();
	for (int i = 0; i < times; i++) {
		if (write(fds[1], "x", 1) != 1 || read(fds[0], &byte, 1) != 1 || byte != 'x')
			abort();
		if (i % 10 == 0)
			throw_and_catch();
	}
	close(fds[0]);
	close(fds[1]);
}

static void *run(void *racing)
{
	work(200);
	if (racing)
		shared++;
	pthread_mutex_lock(&lock);
	sum += 200;
	ready++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return nullptr;
}

static void threads(bool racing)
{
	pthread_t thread[4];
	for (pthread_t &t : thread)
		pthread_create(&t, nullptr, run, racing ? &shared : nullptr);
	pthread_mutex_lock(&lock);
	while (ready < 4)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (pthread_t t : thread)
		pthread_join(t, nullptr);
}

static void child()
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		work(20);
		_exit(5);
	}
	waitpid(pid, &status, 0);
	printf("%d calls, child %d\n", sum, WEXITSTATUS(status));
	fflush(stdout);
}

static bool is(const char *name, const char *other)
{
	return !strcmp(name, other);
}

__attribute__((noinline)) static void fault(const char *name)
{
	memory = static_cast<char *>(malloc(10));
	if (is(name, "overflow"))
		memory[ten] = 1;
	if (is(name, "undefined"))
		printf("%d\n", 1 << (ten + 30));
	if (is(name, "uninitialized") && memory[3] == 7)
		puts("seven");
	if (!is(name, "leak"))
		free(memory);
	if (is(name, "freed"))
		memory[0] = 1;
	memory = nullptr;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	signals();
	threads(!strcmp(name, "race"));
	child();
	if (*name)
		fault(name);
	return 6;
}
