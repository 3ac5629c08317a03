/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system.c - checks of the kernel, the C library and their limits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/seccomp.h"
#include "common/tree.h"
#include "machine/machine.h"
#include "reader/base/companion.h"
#include "reader/cli/base/home.h"
#include "reader/cli/doctor/checks.h"
#include "reader/cli/info/info.h"

#define PATIENCE_MS 30000
#define SPOOL_ENOUGH_MIB 64u
#define FUNCTIONS_SUPPORTED MACHINE_FUNCTIONS /* tracer/functions has stubs for this processor */

/* ---- recording ---- */

/* Record a run of libtrace-host, which every installation has, by `trace run`. */
static void host_record(struct finding *f, const char *host, const char *report)
{
	char program[PATH_MAX], said[4096], verdict[512];
	const char *const arguments[] = {"run", "-o", report, "-t", "osrt", "--capture-range",
		"none", "--", host, "machine", NULL};
	struct info i = {.r.quiet = true};
	int status = companion_program(program)
		? -1
		: companion_run(program, arguments, true, PATIENCE_MS, said, sizeof(said));
	if (status || access(report, R_OK) || info_gather(&i, report, true)) {
		const char *line = strstr(said, "trace: ");
		finding_set(f, FINDING_NO, "a program cannot be recorded: %.*s",
			line ? (int)strcspn(line, "\n") : 40,
			line                   ? line
				: status == -1 ? "no answer within 30 s"
					       : "it left no report");
		return;
	}
	bool is_complete = info_verdict(&i, verdict, sizeof(verdict));
	finding_set(f, is_complete ? FINDING_YES : FINDING_PARTLY,
		"a test program was recorded; verdict: %s", verdict);
	info_release(&i);
}

void check_record(struct finding *f)
{
	const char *const ask[] = {"machine", NULL};
	char folder[PATH_MAX], host[PATH_MAX], report[PATH_MAX + 8], answer[256];
	const char *temporary = getenv("TMPDIR");
	struct home home;
	if (home_look(&home) || companion_path("libtrace-host", host)) {
		finding_set(f, FINDING_NO,
			"libtrace.so and libtrace-writer are not in ../lib/libtrace beside trace");
		finding_advise(f, "install libtrace again, or set LIBTRACE_HOME to their folder");
		return;
	}
	if (!companion_ask(ask, PATIENCE_MS, answer, sizeof(answer))) {
		finding_set(f, FINDING_NO,
			"there is no glibc here: programs of this system cannot load libtrace.so");
		finding_advise(f, "record on a system with glibc; reports can be read here");
		return;
	}
	snprintf(folder, sizeof(folder), "%s/libtrace-doctor-XXXXXX",
		temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(folder)) {
		finding_set(f, FINDING_NO, "cannot create a folder like '%s': %s", folder,
			strerror(errno));
		finding_advise(f, "set TMPDIR to a folder that can be written to");
		return;
	}
	snprintf(report, sizeof(report), "%s/r.rep", folder);
	host_record(f, host, report);
	unlink(report);
	rmdir(folder);
	if (f->state != FINDING_YES)
		finding_advise(f, "run 'trace run -- ls' and 'trace info' to see more");
}

void check_spool(struct finding *f)
{
	const char *given = getenv("LIBTRACE_SPOOL_DIR");
	const char *folder = given && *given ? given : TREE_DEFAULT_BASE;
	struct statvfs s;
	if (access(folder, W_OK | X_OK) || statvfs(folder, &s)) {
		finding_set(f, FINDING_NO, "%s: %s", folder, strerror(errno));
		finding_advise(f,
			"set LIBTRACE_SPOOL_DIR to a folder in memory (tmpfs) that all "
			"processes of the program see");
		return;
	}
	uint64_t mib = (uint64_t)s.f_bavail * s.f_frsize >> 20;
	bool enough = mib >= SPOOL_ENOUGH_MIB;
	finding_set(f, enough ? FINDING_YES : FINDING_PARTLY, "%s: %llu MiB free", folder,
		(unsigned long long)mib);
	if (!enough)
		finding_advise(f,
			"events are dropped and counted when it is full: docker run "
			"--shm-size=1g, or set LIBTRACE_SPOOL_DIR");
}

/* ---- what is recorded with calls ---- */

/* Return the number of system call filters; 0 if it is not known. */
static int filters(void)
{
	uint32_t pid;
	int count = seccomp_filters(SECCOMP_PROCESS_STATUS, &pid);
	return count > 0 ? count : 0;
}

void check_callchains(struct finding *f)
{
	if (filters()) {
		finding_set(f, FINDING_NO,
			"a system call filter (seccomp) is in force: calls are recorded, their "
			"callchains are not");
		finding_advise(f,
			"start the container without it: docker run --security-opt "
			"seccomp=unconfined");
		return;
	}
	if (access("/proc/self/maps", R_OK)) {
		finding_set(f, FINDING_PARTLY,
			"/proc is not mounted: modules and command lines are not recorded");
		finding_advise(f, "mount it: mount -t proc proc /proc");
		return;
	}
	finding_set(f, FINDING_YES, "permitted: no system call filter (seccomp) is in force");
}

void check_samples(struct finding *f)
{
	struct utsname name;
	struct rlimit limit;
	unsigned major = 0, minor = 0;
	if (filters()) {
		finding_set(f, FINDING_NO, "a system call filter (seccomp) is in force");
		return;
	}
	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
		(major == 5 && minor < 11)) {
		finding_set(f, FINDING_NO, "Linux %s is older than 5.11", name.release);
		return;
	}
	if (!getrlimit(RLIMIT_SIGPENDING, &limit) && limit.rlim_cur < 64) {
		finding_set(f, FINDING_PARTLY, "only %llu signals may be pending (ulimit -i)",
			(unsigned long long)limit.rlim_cur);
		finding_advise(f, "raise the limit: ulimit -i 10000");
		return;
	}
	finding_set(f, FINDING_YES, "permitted (Linux %s): trace run --sample=process-tree",
		name.release);
}

/* Look whether calls of libraries can be seen. Set state and text of the finding only if not. */
static bool calls_are_seen(struct finding *f, const char *what, char ret_glibc[32])
{
	const char *const ask[] = {"machine", NULL};
	char answer[256];
	unsigned major = 0, minor = 0;
	companion_ask(ask, PATIENCE_MS, answer, sizeof(answer));
	bool is_known = answer_find(answer, "glibc", ret_glibc, 32) &&
		sscanf(ret_glibc, "%u.%u", &major, &minor) == 2;
	if (!FUNCTIONS_SUPPORTED)
		finding_set(f, FINDING_NO, "%s is not recorded on " MACHINE_TEXT, what);
	else if (!is_known)
		finding_set(f, FINDING_NO, "there is no glibc here");
	else if (major < 2 || (major == 2 && minor < 35))
		finding_set(f, FINDING_NO, "glibc %s is older than 2.35, which %s needs", ret_glibc,
			what);
	else
		return true;
	return false;
}

void check_functions(struct finding *f)
{
	char glibc[32] = "";
	if (calls_are_seen(f, "trace run --functions", glibc))
		finding_set(f, FINDING_YES,
			"calls of any library but the C library (glibc %s): trace run --functions "
			"'libz.so*:*'",
			glibc);
}

void check_openmp(struct finding *f)
{
	struct finding calls = {0};
	char glibc[32] = "";
	if (calls_are_seen(&calls, "seeing its calls", glibc))
		finding_set(f, FINDING_YES,
			"trace run -t openmp: runtimes with OMPT (LLVM, Intel); GNU's libgomp has "
			"no OMPT, its calls are seen");
	else
		finding_set(f, FINDING_PARTLY,
			"trace run -t openmp: runtimes with OMPT (LLVM, Intel); not GNU's libgomp, "
			"which has no OMPT: %s",
			calls.text);
}

void check_clock(struct finding *f)
{
	char source[64] = "unknown";
	line_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		sizeof(source));
	clock_init();
	if (clock_is_tsc)
		finding_set(f, FINDING_YES, "the processor's counter (" MACHINE_CLOCKSOURCE ")");
	else
		finding_set(f, FINDING_PARTLY,
			"the kernel's clock source is '%s', not '" MACHINE_CLOCKSOURCE
			"': a recorded call costs more",
			source);
}

/* ---- what other tools need ---- */

/* Attach to a child. Returns 0 or a negative errno. */
static int child_attach(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	if (pid < 0)
		return -errno;
	int error = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? -errno : 0;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return error;
}

void check_ptrace(struct finding *f)
{
	char scope[16] = "";
	int error = child_attach();
	line_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	int level = atoi(scope);
	if (error)
		finding_set(f, FINDING_NO, "debuggers cannot attach: %s; trace does not need them",
			strerror(-error));
	else if (level)
		finding_set(f, FINDING_PARTLY,
			"debuggers attach to %s only (ptrace_scope %d); trace does not need them",
			level == 1 ? "their own children" : "processes as root", level);
	else
		finding_set(f, FINDING_YES, "debuggers can attach; trace does not need them");
	if (error)
		finding_advise(f, "for gdb -p in a container: docker run --cap-add=SYS_PTRACE");
	else if (level)
		finding_advise(f, "for gdb -p: sysctl kernel.yama.ptrace_scope=0");
}

void check_perf(struct finding *f)
{
	struct perf_event_attr a = {.size = sizeof(a),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1};
	char level[16] = "unknown";
	long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	int error = errno;
	line_read("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	if (fd >= 0) {
		close((int)fd);
		finding_set(f, FINDING_YES,
			"perf events are permitted (perf_event_paranoid %s); only trace run "
			"--cpuctxsw needs them",
			level);
		return;
	}
	finding_set(f, FINDING_NO,
		"perf events are refused: %s (perf_event_paranoid %s); only trace run --cpuctxsw "
		"needs them",
		strerror(error), level);
	finding_advise(f,
		"for perf and --cpuctxsw: sysctl kernel.perf_event_paranoid=2, or in a container "
		"--cap-add=PERFMON");
}
