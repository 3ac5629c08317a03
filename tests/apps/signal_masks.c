/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_masks.c - signal masks, dispositions and delivery.
 *
 * Masks and handlers of the program, its threads, forked and executed children must be as
 * untraced. SIGCHLD must arrive once per child of the program, never for a helper. sigwait,
 * sigsuspend, sigtimedwait and signalfd must see what they see untraced, and blocked signals must
 * stay blocked in wrapped calls.
 */
#include "app.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t children, usr;

static void on_child(int signal)
{
	(void)signal;
	children++;
}

static void on_usr(int signal)
{
	(void)signal;
	usr++;
}

static int mask_is_empty(void)
{
	sigset_t now;
	sigemptyset(&now);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	for (int s = 1; s < 64; s++)
		if (sigismember(&now, s) == 1)
			return 0;
	return 1;
}

static int dispositions_are_default(void)
{
	struct sigaction action;
	for (int s = 1; s < 64; s++)
		if (!sigaction(s, NULL, &action) && action.sa_handler != SIG_DFL)
			return 0;
	return 1;
}

static void *thread_main(void *unused)
{
	check(mask_is_empty(), "a thread starts with its maker's mask");
	return unused;
}

static void waits(void)
{
	sigset_t set, old;
	int signal = 0;
	siginfo_t info;
	struct timespec instant = {0, 1000};
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	raise(SIGUSR2);
	check(!sigwait(&set, &signal) && signal == SIGUSR2, "sigwait");
	check(sigtimedwait(&set, &info, &instant) == -1 && errno == EAGAIN,
		"sigtimedwait times out");
	sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 42});
	check(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_value.sival_int == 42,
		"sigqueue and sigwaitinfo");
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	struct signalfd_siginfo event;
	raise(SIGUSR2);
	check(read(fd, &event, sizeof(event)) == sizeof(event) && event.ssi_signo == SIGUSR2,
		"signalfd");
	close(fd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void suspend(void)
{
	sigset_t block, none;
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	signal(SIGUSR1, on_usr);
	pthread_sigmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR1);
	check(usr == 0, "a blocked signal waits");
	check(sigsuspend(&none) == -1 && errno == EINTR && usr == 1, "sigsuspend lets it in");
	pthread_sigmask(SIG_UNBLOCK, &block, NULL);
	check(mask_is_empty(), "the mask is empty again");
}

static void child_signals(void)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	sigaction(SIGCHLD, &action, NULL);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(mask_is_empty() ? 5 : 6);
		int status = 0;
		require(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5,
			"a child with an empty mask");
	}
	app_sleep_ms(20);
	check(children == 5, "one SIGCHLD per child of the program");
	check(system("exit 7") == 7 << 8, "system under a SIGCHLD handler");
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	check(waitpid(pid, NULL, 0) == -1 && errno == ECHILD, "SIGCHLD ignored: no zombie, ECHILD");
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	pthread_t thread;
	check(mask_is_empty(), "empty mask at the start");
	check(dispositions_are_default(), "default dispositions at the start");
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
	waits();
	suspend();
	child_signals();
	return app_result();
}
