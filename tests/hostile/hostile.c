/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.c - a random program that a seed determines: main() and the interpreter of its tasks.
 *
 * run.py runs it untraced and traced, and compares the lines of its tasks, its exit status, and the
 * calls that it counted. Calls that it does not count are system calls by instruction, not through
 * libc, so that they are not in the report either.
 *
 *     hostile FILE SEED ACTIONS CALLS     ACTIONS, CALLS: masks of rows to leave out; with bit 63
 *                                         the other rows occur more often
 *     hostile --rows                      print the names of functions, actions and calls
 */
#include "hostile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx.h"

#define ONLY_THESE (1ull << 63)
#define CANARY 0x5ca1ab1e0ddba11ULL

struct world *world;
struct book *book;
const char *world_path, *self_path;
uint64_t seed, actions_left_out, calls_left_out;
int zero_fd, null_fd;
static __thread uint64_t canary = CANARY, canary_zero;

int pid_now(void)
{
	return (int)RAW0(getpid);
}

int tid_now(void)
{
	return (int)RAW0(gettid);
}

/* ---- random numbers ---- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

unsigned roll(struct task *t, unsigned n)
{
	return (unsigned)(mix(t->id ^ mix(t->step * 1000 + t->rolls++)) >> 11) % n;
}

/* ---- lines ---- */

static struct slot *slot_new(const char *parent, const char *kind, unsigned number)
{
	uint32_t index = __atomic_fetch_add(&world->slots_used, 1, __ATOMIC_RELAXED);
	if (index >= SLOT_COUNT)
		return NULL;
	struct slot *slot = &world->slot[index];
	snprintf(slot->path, sizeof(slot->path), "%s.%u%s", parent, number, kind);
	slot->pid = pid_now();
	return slot;
}

void tell(struct task *t, const char *format, ...)
{
	char text[160];
	va_list arguments;
	if (t->traits & MUTE || !t->slot)
		return;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length >= (int)sizeof(text))
		length = sizeof(text) - 1;
	for (int i = 0; i < length; i++)
		t->slot->hash = (t->slot->hash ^ (unsigned char)text[i]) * 0x100000001b3;
	if (t->slot->length + (unsigned)length > TEXT_BYTES) {
		t->slot->lost++;
		return;
	}
	memcpy(t->slot->text + t->slot->length, text, (size_t)length);
	t->slot->length += (unsigned)length;
}

void report_result(struct task *t, const char *name, long result, int error)
{
	if (error == ERRNO_KEPT)
		tell(t, " %s=%ld", name, result);
	else
		tell(t, " %s=%ld/%d", name, result, error);
}

/* ---- books ---- */

void book_begin(unsigned slack)
{
	uint32_t index = __atomic_fetch_add(&world->books_used, 1, __ATOMIC_RELAXED);
	int32_t above = book ? book->pids[0] : 0;
	book = &world->book[index < BOOK_COUNT ? index : BOOK_COUNT - 1];
	book->above = above;
	book->slack = slack;
	book_member(pid_now());
}

void book_member(int pid)
{
	uint32_t index = __atomic_fetch_add(&book->pid_count, 1, __ATOMIC_RELAXED);
	if (index < PIDS_MAX)
		book->pids[index] = pid;
}

/* ---- tasks ---- */

static uint64_t text_id(const char *text)
{
	uint64_t id = seed;
	while (*text)
		id = mix(id ^ (unsigned char)*text++);
	return id;
}

void task_make(
	struct task *child, struct task *t, const char *kind, unsigned number, unsigned traits)
{
	int share = t->budget > 1 ? (t->budget - 1) / 2 : 0;
	t->budget -= share;
	*child = (struct task){.traits = traits, .depth = t->depth + 1, .budget = share};
	child->slot = slot_new(t->slot ? t->slot->path : "?", kind, t->step * 10 + number);
	child->id = text_id(child->slot ? child->slot->path : kind);
	if (child->slot)
		child->slot->hash = 0xcbf29ce484222325;
}

/* Choose a row that the task's traits allow, by weight; return NULL if that row is left out. With
 * ONLY_THESE the other rows get the chances of those left out, so it is another program. */
static const struct row *row_choose(
	struct task *t, const struct row *rows, unsigned count, uint64_t left_out)
{
	unsigned weight[64], sum = 0, i;
	for (i = 0; i < count; i++) {
		bool none = rows[i].excluded & t->traits ||
			(left_out & ONLY_THESE && left_out >> i & 1);
		weight[i] = none ? 0 : rows[i].weight;
		sum += weight[i];
	}
	if (!sum)
		return NULL;
	unsigned at = roll(t, sum);
	for (i = 0; at >= weight[i]; i++)
		at -= weight[i];
	return left_out >> i & 1 ? NULL : &rows[i];
}

void task_calls(struct task *t, unsigned few, unsigned many)
{
	unsigned times = few + roll(t, many - few + 1);
	while (times--) {
		const struct row *row = row_choose(t, call_rows, call_count, calls_left_out);
		if (row)
			hostile_through(row->run, t);
	}
}

void task_run(struct task *t)
{
	unsigned steps = 2 + roll(t, 6);
	while (t->step < steps) {
		t->step++;
		t->rolls = 0;
		task_calls(t, 0, 6);
		if (t->budget <= 0 || roll(t, 3) == 0)
			continue;
		const struct row *row = row_choose(t, action_rows, action_count, actions_left_out);
		t->budget--;
		if (row) {
			tell(t, " %s[", row->name);
			hostile_through(row->run, t);
			tell(t, " ]");
		}
	}
	t->step = 90;
	task_calls(t, 1, 4);
	task_end(t);
}

void task_end(struct task *t)
{
	uint64_t mask = 0;
	stack_t stack = {0};
	RAW4(rt_sigprocmask, 0, 0, &mask, 8);
	RAW2(sigaltstack, 0, &stack);
	/* A raw call in a handler sees SIGURG there, which CPU samples add. */
	mask &= ~(1ull << (SIGURG - 1));
	tell(t, " mask=%llx stack=%d", (unsigned long long)mask, stack.ss_flags);
	tell(t, " canary=%d", canary == CANARY && canary_zero == 0);
	if (t->slot)
		t->slot->ended = 1;
}

/* ---- processes ---- */

void descriptors_open(void)
{
	zero_fd = (int)RAW3(open, "/dev/zero", O_RDONLY | O_CLOEXEC, 0);
	null_fd = (int)RAW3(open, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
}

/* Report the state of the process that can be seen from outside. */
static void process_report(struct task *t)
{
	unsigned handled = 0;
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} action;
	/* A raw call sees the handler of CPU samples (docs/limitations.md); tests/apps/sampled.c
	 * asks the C library. */
	for (int i = 1; i < 65; i++)
		if (i != SIGURG && !RAW4(rt_sigaction, i, 0, &action, 8) &&
			(unsigned long)action.handler > 1)
			handled++;
	tell(t, " handled=%u fds=", handled);
	for (int i = 0; i < 300; i++)
		if (RAW3(fcntl, i, F_GETFD, 0) >= 0)
			tell(t, "%d,", i);
	struct stat tasks;
	const struct timespec moment = {0, 1000000};
	int threads = 0;
	/* A thread that was joined may be listed for a moment. */
	for (int left = 100; !RAW2(stat, "/proc/self/task", &tasks) && left > 0; left--) {
		threads = (int)tasks.st_nlink - 2;
		if (threads == 1)
			break;
		RAW2(nanosleep, &moment, NULL);
	}
	tell(t, " threads=%d", threads);
	tell(t, " children=%ld", RAW4(wait4, -1, 0, WNOHANG | __WALL, 0));
}

void again_make(struct again *again, struct task *t, unsigned traits)
{
	snprintf(again->words[0], sizeof(again->words[0]), "%llu", (unsigned long long)seed);
	snprintf(again->words[1], sizeof(again->words[1]), "%llu",
		(unsigned long long)actions_left_out);
	snprintf(again->words[2], sizeof(again->words[2]), "%llu",
		(unsigned long long)calls_left_out);
	snprintf(again->words[3], sizeof(again->words[3]), "%s", t->slot ? t->slot->path : "?");
	snprintf(again->words[4], sizeof(again->words[4]), "%u", traits);
	snprintf(again->words[5], sizeof(again->words[5]), "%d", t->budget / 2);
	snprintf(again->words[6], sizeof(again->words[6]), "%d", t->depth);
	again->argv[0] = (char *)"hostile";
	again->argv[1] = (char *)world_path;
	snprintf(again->words[7], sizeof(again->words[7]), "%d", pid_now());
	for (int i = 0; i < 8; i++)
		again->argv[2 + i] = again->words[i];
	again->argv[10] = NULL;
}

/* Execute another program in this process; return only if that fails. */
static void process_exec(struct task *t)
{
	struct again again;
	t->step = 95;
	again_make(&again, t, t->traits & FILTERED);
	if (t->slot)
		t->slot->ended = 1;
	CALL(t, execve, execve(self_path, again.argv, environ));
}

_Noreturn void process_end(struct task *t)
{
	int status = (int)roll(t, 200);
	if (!(t->traits & (MUTE | BORROWED | FILTERED)))
		process_report(t);
	switch (roll(t, 10)) {
	case 0:
		if (!(t->traits & FILTERED))
			RAW2(kill, pid_now(), SIGKILL);
		break;
	case 1:
		RAW1(exit_group, status);
		break;
	case 2:
	case 3:
		if (!(t->traits & (PURE | BORROWED | FILTERED)))
			exit(status);
		break;
	case 4:
	case 5:
		if (t->depth < 6 && !(t->traits & FILTERED))
			process_exec(t);
		break;
	case 6:
		if (!(t->traits & (PURE | BORROWED | FILTERED)))
			__builtin_trap();
		break;
	}
	BEGUN(_exit, 1);
	_exit(status);
}

_Noreturn void process_run(struct task *t, unsigned slack)
{
	book_begin(slack);
	if (t->slot)
		t->slot->pid = pid_now();
	task_run(t);
	process_end(t);
}

void reap(struct task *t, int pid)
{
	int status = 0;
	long got;
	if (pid <= 0)
		return;
	if (t->traits & (PURE | FILTERED)) {
		do
			got = RAW4(wait4, pid, &status, __WALL, 0);
		while (got == -EINTR);
	} else {
		do
			got = COUNTED(waitpid, waitpid(pid, &status, __WALL));
		while (got < 0 && errno == EINTR);
	}
	tell(t, " child=%d status=%x", got == pid, (unsigned)status);
}

/* ---- start ---- */

static int rows_print(void)
{
	static const char *const functions[] = {
#define FN(name) #name,
#include "functions.def"
#undef FN
	};
	printf("functions");
	for (unsigned i = 0; i < FN_COUNT; i++)
		printf(" %s", functions[i]);
	printf("\nactions");
	for (unsigned i = 0; i < action_count; i++)
		printf(" %s", action_rows[i].name);
	printf("\ncalls");
	for (unsigned i = 0; i < call_count; i++)
		printf(" %s", call_rows[i].name);
	printf("\nlayout %zu %zu %zu %zu\n", offsetof(struct world, book), sizeof(struct book),
		offsetof(struct world, slot), sizeof(struct slot));
	return 0;
}

static bool world_map(void)
{
	int fd = (int)RAW3(open, world_path, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	world = (struct world *)raw(
		SYS_mmap, 0, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	RAW1(close, fd);
	return (unsigned long)world < -4096UL;
}

int main(int argc, char **argv)
{
	struct task task = {.budget = 12};
	if (argc > 1 && !strcmp(argv[1], "--rows"))
		return rows_print();
	if (argc < 5)
		return 2;
	world_path = argv[1];
	self_path = "/proc/self/exe";
	static char self[512];
	long length = RAW3(readlink, "/proc/self/exe", self, sizeof(self) - 1);
	if (length > 0)
		self_path = self;
	seed = strtoull(argv[2], NULL, 0);
	actions_left_out = strtoull(argv[3], NULL, 0);
	calls_left_out = strtoull(argv[4], NULL, 0);
	if (!world_map())
		return 3;
	book_begin(0);
	if (argc >= 10 && !((unsigned)atoi(argv[6]) & FILTERED))
		data_limit_renew();
	if (argc >= 10) {
		book->above = atoi(argv[9]) == pid_now() ? 0 : atoi(argv[9]);
		task.traits = (unsigned)atoi(argv[6]);
		task.budget = atoi(argv[7]);
		task.depth = atoi(argv[8]);
	}
	task.slot = slot_new(argc >= 10 ? argv[5] : "", argc >= 10 ? "x" : "main", 0);
	task.id = text_id(task.slot ? task.slot->path : "main");
	if (!(task.traits & FILTERED))
		descriptors_open();
	/* Otherwise the first pthread_exit() loads it, and has a descriptor open meanwhile. */
	dlopen("libgcc_s.so.1", RTLD_NOW);
	/* NVTX looks for a tool at its first call, which may not happen in a handler. */
	COUNTED_VOID(nvtx_range, nvtxRangePushA("begin"), nvtxRangePop());
	task_run(&task);
	if (argc >= 10)
		process_end(&task);
	process_report(&task);
	return (int)roll(&task, 100);
}
