/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_tree.c - starts programs where they may be unable to enter the tree of their parent.
 *
 * Each program must run as it would without the tracer. The report must have it, or list it as not
 * traced.
 *
 *     left_tree [SURROUNDINGS WAY]    without arguments: here, each way that is not `alone`
 *
 * SURROUNDINGS: here; user (another user), euid (another effective user), mount (another /dev/shm),
 * chroot, preload (no LD_PRELOAD), tree (no LIBTRACE_TREE), report (as tree, with another
 * LIBTRACE_OUTPUT), loader (the loader lists libraries and ends), filter (seccomp), namespace
 * (pids), full (no space in /dev/shm). Those with mounts, users and namespaces need root.
 *
 * WAY: spawn spawnp reset directory system nothing interrupted popen vfork clone fork exec forked
 * double orphan fails missing gone (no shell, after one that was started), reused (a pid: needs a
 * pid namespace of its own).
 */
#include "app.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#define OTHER 65534 /* nobody */

extern char **environ;
static char *const arguments[] = {"sh", "-c", "exit 5", NULL};

/* ---- surroundings ---- */

static void enter_here(void)
{
}

static void enter_user(void)
{
	require(!setgroups(0, NULL) && !setresgid(OTHER, OTHER, OTHER) &&
			!setresuid(OTHER, OTHER, OTHER),
		"another user");
}

static void enter_euid(void)
{
	require(!seteuid(OTHER), "another effective user");
}

static void own_mounts(void)
{
	require(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
		"mounts of its own");
}

static void enter_mount(void)
{
	own_mounts();
	require(!mount("none", "/dev/shm", "tmpfs", 0, NULL), "another /dev/shm");
}

/* Change the root to the same files with another /dev/shm: the library can be reached, the tree
 * cannot. */
static void enter_chroot(void)
{
	own_mounts();
	require(!mount("/", "/mnt", NULL, MS_BIND | MS_REC, NULL) &&
			!mount("none", "/mnt/dev/shm", "tmpfs", 0, NULL) && !chroot("/mnt") &&
			!chdir("/"),
		"another root directory");
}

static void enter_preload(void)
{
	unsetenv("LD_PRELOAD");
}

static void enter_tree(void)
{
	unsetenv("LIBTRACE_TREE");
}

static void enter_filter(void)
{
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog program = {1, &all};
	require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
			!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
		"a filter");
}

/* Name another report, in the working directory. */
static void enter_report(void)
{
	unsetenv("LIBTRACE_TREE");
	setenv("LIBTRACE_OUTPUT", "other.rep", 1);
}

static void enter_loader(void)
{
	setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
}

static void enter_full(void)
{
	static char page[4096];
	int fd = open("/dev/shm/full", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, page, sizeof(page)) > 0)
		;
	require(errno == ENOSPC, "no space");
	close(fd);
}

static void enter_namespace(void)
{
	require(!unshare(CLONE_NEWPID), "a pid namespace for children");
}

/* ---- ways ---- */

static void child_ends(pid_t pid, const char *text)
{
	int status = 0;
	require(pid > 0, text);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5,
		text);
}

static void by_spawn(void)
{
	pid_t pid = 0;
	require(!posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ), "posix_spawn");
	child_ends(pid, "posix_spawn");
}

static void by_spawnp(void)
{
	pid_t pid = 0;
	require(!posix_spawnp(&pid, "sh", NULL, NULL, arguments, environ), "posix_spawnp");
	child_ends(pid, "posix_spawnp");
}

static void by_reset(void)
{
	posix_spawnattr_t attributes;
	pid_t pid = 0;
	require(!posix_spawnattr_init(&attributes) &&
			!posix_spawnattr_setflags(&attributes, POSIX_SPAWN_RESETIDS) &&
			!posix_spawn(&pid, "/bin/sh", NULL, &attributes, arguments, environ),
		"POSIX_SPAWN_RESETIDS");
	child_ends(pid, "POSIX_SPAWN_RESETIDS");
}

/* The program is in another directory, where no loader would run it. */
static void by_directory(void)
{
	static char *const none[] = {"static_child", NULL};
	posix_spawn_file_actions_t actions;
	char place[4096] = "";
	int status = 0;
	pid_t pid = 0;
	require(readlink("/proc/self/exe", place, sizeof(place) - 1) > 0, "own path");
	*strrchr(place, '/') = 0;
	require(!posix_spawn_file_actions_init(&actions) &&
			!posix_spawn_file_actions_addchdir_np(&actions, place) &&
			!posix_spawn(&pid, "./static_child", &actions, NULL, none, environ),
		"posix_spawn in another directory");
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "another directory");
	posix_spawn_file_actions_destroy(&actions);
}

/* A relative path means another file in the directory that the file actions change to: here it is
 * that of a statically linked program. */
static void by_same_name(bool is_searched)
{
	char place[] = "/tmp/libtrace-same-XXXXXX", program[4096] = "";
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	require(readlink("/proc/self/exe", program, sizeof(program) - 16) > 0, "own path");
	strcpy(strrchr(program, '/') + 1, "static_child");
	require(mkdtemp(place) && !chdir(place) && !mkdir("there", 0755) &&
			!symlink(program, "same") && !symlink("/bin/sh", "there/same"),
		"two files with one name");
	require(!posix_spawn_file_actions_init(&actions) &&
			!posix_spawn_file_actions_addchdir_np(&actions, "there") &&
			!(is_searched ? posix_spawnp : posix_spawn)(
				&pid, "./same", &actions, NULL, arguments, environ),
		"posix_spawn of the other file");
	child_ends(pid, "the other file");
	posix_spawn_file_actions_destroy(&actions);
	require(!unlink("same") && !unlink("there/same") && !rmdir("there") && !chdir("/") &&
			!rmdir(place),
		"clean up");
}

static void by_same_file(void)
{
	by_same_name(false);
}

static void by_same_path(void)
{
	by_same_name(true);
}

static void by_nothing(void)
{
	check(system(NULL) == 1, "system(NULL) starts a shell");
}

static void on_alarm(int number)
{
	(void)number;
}

/* system() leaves EINTR in errno, and the status of the shell is that of a shell that is missing.
 */
static void by_interrupted(void)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	require(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL),
		"timer");
	check(system("sleep 0.05; exit 127") == 127 << 8, "interrupted system");
	setitimer(ITIMER_REAL, &never, NULL);
}

static void by_system(void)
{
	check(system("exit 5") == 5 << 8, "system");
}

static void by_popen(void)
{
	FILE *file = popen("exit 5", "r");
	check(file && pclose(file) == 5 << 8, "popen");
}

static void by_vfork(void)
{
	pid_t pid = vfork();
	if (!pid) {
		execve("/bin/sh", arguments, environ);
		_exit(99);
	}
	child_ends(pid, "vfork and exec");
}

static int clone_main(void *unused)
{
	(void)unused;
	execve("/bin/sh", arguments, environ);
	_exit(99);
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	child_ends(clone(clone_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL),
		"clone and exec");
}

static void by_fork(void)
{
	pid_t pid = fork();
	if (!pid) {
		execve("/bin/sh", arguments, environ);
		_exit(99);
	}
	child_ends(pid, "fork and exec");
}

static void by_exec(void)
{
	execve("/bin/sh", arguments, environ);
	check(0, "exec");
}

/* Fork without exec. The child makes calls that can only be in a spool of its own. */
static void by_forked(void)
{
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 10; i++)
			sched_yield();
		_exit(5);
	}
	child_ends(pid, "fork");
}

static void by_double(void)
{
	pid_t pid = fork();
	if (!pid) {
		pid_t inner = fork();
		if (!inner) {
			execve("/bin/sh", arguments, environ);
			_exit(99);
		}
		int status = 0;
		waitpid(inner, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	child_ends(pid, "double fork");
}

/* Start a program and end without waiting: the program may begin after its parent has ended. */
static void by_orphan(void)
{
	pid_t pid = 0;
	require(!posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ), "posix_spawn");
	_exit(5);
}

/* Fail to create a process: there is nothing to list. */
static void by_fails(void)
{
	struct rlimit limit;
	pid_t pid = 0;
	enter_user(); /* root has no limit of processes */
	require(!getrlimit(RLIMIT_NPROC, &limit), "limit");
	limit.rlim_cur = 0;
	require(!setrlimit(RLIMIT_NPROC, &limit), "limit");
	check(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == EAGAIN,
		"posix_spawn fails");
	for (int i = 0; i < 2; i++) { /* the second one leaves errno as it was */
		check(system("exit 5") == 127 << 8 || errno == EAGAIN, "system fails");
		check(errno == EAGAIN, "system fails for the limit");
	}
	check(!popen("exit 5", "r"), "popen fails");
}

static void by_missing(void)
{
	static char *const none[] = {"none", NULL};
	pid_t pid = vfork();
	if (!pid) {
		execve("/nonexistent/program", none, environ);
		execve("/dev/null", none, environ);
		_exit(5);
	}
	child_ends(pid, "vfork and exec of nothing");
	check(posix_spawn(&pid, "/dev/null", NULL, NULL, none, environ) != 0,
		"posix_spawn of nothing");
}

/* A shell, and then one that is not started, since it is missing. */
static void by_gone(void)
{
	char empty[] = "/tmp/left_tree-XXXXXX";
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(root >= 0 && mkdtemp(empty), "an empty folder");
	by_system();
	require(!chroot(empty) && !chdir("/"), "no files");
	check(system("exit 5") == 127 << 8, "system fails without a shell");
	require(!fchdir(root) && !chroot(".") && !rmdir(empty), "files");
	close(root);
}

/* A program that ends in the loader gets the pid of one that has ended. */
static void by_reused(void)
{
	int status = 0, fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	pid_t first = 0, pid;
	require(fd >= 0 && !posix_spawn(&first, "/bin/sh", NULL, NULL, arguments, environ),
		"the first program");
	child_ends(first, "the first program ends");
	usleep(50000); /* the writer compares times to 1 ms */
	enter_loader();
	require(dprintf(fd, "%d", first - 1) > 0, "ns_last_pid");
	pid = vfork();
	if (!pid) {
		execve("/bin/sh", arguments, environ);
		_exit(99);
	}
	require(pid == first, "the same pid");
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 0, "the loader ends");
	close(fd);
}

static const struct row {
	const char *name;
	void (*run)(void);
	int alone; /* run only if named by the arguments */
} surroundings[] = {{"here", enter_here, 0}, {"user", enter_user, 1}, {"euid", enter_euid, 1},
	{"mount", enter_mount, 1}, {"chroot", enter_chroot, 1}, {"preload", enter_preload, 1},
	{"tree", enter_tree, 1}, {"report", enter_report, 1}, {"loader", enter_loader, 1},
	{"filter", enter_filter, 1}, {"namespace", enter_namespace, 1}, {"full", enter_full, 1}},
  ways[] = {{"spawn", by_spawn, 0}, {"spawnp", by_spawnp, 0}, {"reset", by_reset, 0},
	  {"directory", by_directory, 1}, {"same_file", by_same_file, 1},
	  {"same_path", by_same_path, 1}, {"system", by_system, 0}, {"nothing", by_nothing, 0},
	  {"interrupted", by_interrupted, 1}, {"popen", by_popen, 0}, {"vfork", by_vfork, 0},
	  {"clone", by_clone, 0}, {"fork", by_fork, 0}, {"exec", by_exec, 1},
	  {"forked", by_forked, 0}, {"double", by_double, 0}, {"orphan", by_orphan, 1},
	  {"fails", by_fails, 1}, {"missing", by_missing, 0}, {"gone", by_gone, 1},
	  {"reused", by_reused, 1}};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void run_named(const struct row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name)) {
			rows[i].run();
			return;
		}
	check(0, name);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		for (size_t i = 0; i < ROWS(ways); i++)
			if (!ways[i].alone)
				ways[i].run();
		return app_result();
	}
	run_named(surroundings, ROWS(surroundings), argv[1]);
	run_named(ways, ROWS(ways), argv[2]);
	return app_result();
}
