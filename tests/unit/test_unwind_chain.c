/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_chain.c - compares chains by cached rules, kept from one call to the next, with
 * libunwind's unw_step: many shapes of stacks, and every instruction of a workload through the C
 * library.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "tap.h"
#include "tests/unit/unwind_oracle.h"
#include "unwind/callchain.h"

static struct callchain_thread memory;
static uint64_t random_state = 88172645463325252u;

static uint32_t any(uint32_t count)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % count;
}

/* ---- varied chains ---- */

struct shape {
	uint32_t depth, pattern;
	uint32_t (*leaf)(void);
};
typedef uint64_t (*level_fn)(struct shape *shape, uint32_t depth);
static const level_fn levels[8];

static __attribute__((noinline)) uint64_t next_level(struct shape *shape, uint32_t depth)
{
	if (depth == 0)
		return shape->leaf();
	return levels[(shape->pattern >> depth % 24 ^ depth) & 7](shape, depth - 1) + 1;
}

#define LEVEL(name, bytes, extra)                                                                 \
	static __attribute__((noinline extra)) uint64_t name(struct shape *shape, uint32_t depth) \
	{                                                                                         \
		volatile char frame[bytes];                                                       \
		frame[0] = (char)depth;                                                           \
		frame[(bytes)-1] = 1;                                                             \
		return next_level(shape, depth) + (uint64_t)frame[(bytes)-1];                     \
	}
#if defined(__clang__)
#define WITH_BP
#else
#define WITH_BP , optimize("no-omit-frame-pointer")
#endif
LEVEL(level_small, 16, )
LEVEL(level_large, 5000, )
LEVEL(level_bp, 40, WITH_BP)

static __attribute__((noinline)) uint64_t level_alloca(struct shape *shape, uint32_t depth)
{
	volatile char *frame = alloca(16 + depth % 7 * 24);
	frame[0] = (char)depth;
	return next_level(shape, depth) + (uint64_t)(frame[0] == (char)depth);
}

static __attribute__((noinline)) uint64_t level_aligned(struct shape *shape, uint32_t depth)
{
	_Alignas(64) volatile char frame[64 + 8];
	volatile char *more = alloca(8 + depth % 5 * 16);
	more[0] = frame[0] = (char)depth;
	return next_level(shape, depth) + (uint64_t)(frame[0] == more[0]);
}

static __attribute__((noinline)) uint64_t level_busy(struct shape *shape, uint32_t depth)
{
	uint64_t a = any(7), b = any(9), c = any(3), d = any(5), e = any(11), f = any(13);
	uint64_t result = next_level(shape, depth);
	return result + (a ^ b ^ c ^ d ^ e ^ f) * 0 + a * b * c * d * e * f;
}

static struct shape *sorted_shape;
static uint32_t sorted_depth;
static uint64_t sorted_result;
static int compare_once(const void *a, const void *b)
{
	if (sorted_shape) {
		struct shape *shape = sorted_shape;
		sorted_shape = NULL;
		sorted_result = next_level(shape, sorted_depth);
	}
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) uint64_t level_qsort(struct shape *shape, uint32_t depth)
{
	int numbers[3] = {3, 1, 2};
	sorted_shape = shape;
	sorted_depth = depth;
	qsort(numbers, 3, sizeof(numbers[0]), compare_once);
	return sorted_result + (uint64_t)numbers[0];
}

static __attribute__((noinline)) uint64_t level_recursive(struct shape *shape, uint32_t depth)
{
	return depth > 1 ? level_recursive(shape, depth - 1) + 1 : next_level(shape, depth);
}

static const level_fn levels[8] = {level_small, level_large, level_bp, level_alloca, level_aligned,
	level_busy, level_qsort, level_recursive};

static uint32_t depth_asked = CALLCHAIN_DEPTH_MAX, flags_asked;
static uint64_t chains, wrong, remembered_frames;

static __attribute__((noinline)) uint32_t leaf_compare(void)
{
	struct callchain_result result;
	struct oracle_chain expected, found;
	uint32_t id = callchain_take(&memory, depth_asked, flags_asked, &result);
	oracle_step(&expected);
	oracle_nodes(id, &found);
	chains++;
	remembered_frames += result.count - result.walked;
	if (!oracle_same(&expected, &found, depth_asked) && wrong++ < 3) {
		oracle_print("unw_step", &expected);
		oracle_print("nodes", &found);
	}
	return id;
}

static void varied_chains(uint32_t rounds, uint32_t depth_max)
{
	struct shape shape = {.leaf = leaf_compare};
	chains = wrong = remembered_frames = 0;
	for (uint32_t i = 0; i < rounds; i++) {
		if (any(3) == 0)
			shape.depth = 1 + any(depth_max);
		if (any(4) == 0)
			shape.pattern = any(1u << 30);
		else if (any(2))
			shape.pattern ^= 1u << any(3);
		next_level(&shape, shape.depth);
	}
}

static void chains_are_those_of_libunwind(void)
{
	varied_chains(4000, 40);
	check(wrong == 0 && chains == 4000,
		"varied chains up to 40 deep are libunwind's: %llu of %llu differ",
		(unsigned long long)wrong, (unsigned long long)chains);
	check(remembered_frames > chains * 5, "most frames of varied chains are remembered: %llu",
		(unsigned long long)(remembered_frames / chains));
	varied_chains(1000, 200);
	check(wrong == 0, "chains up to 200 deep are cut at 128: %llu of %llu differ",
		(unsigned long long)wrong, (unsigned long long)chains);
	depth_asked = 16;
	varied_chains(2000, 40);
	check(wrong == 0, "chains are cut at 16 if that is the limit: %llu of %llu differ",
		(unsigned long long)wrong, (unsigned long long)chains);
	depth_asked = CALLCHAIN_DEPTH_MAX;
}

/* ---- signal handlers ---- */

static void handler_compare(int signal)
{
	(void)signal;
	leaf_compare();
}

static __attribute__((noinline)) uint32_t leaf_raise(void)
{
	leaf_compare();
	raise(SIGUSR1);
	return leaf_compare();
}

static void handlers_are_walked_through(bool alternate)
{
	static char other_stack[65536];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {
		.sa_handler = handler_compare, .sa_flags = alternate ? SA_ONSTACK : 0};
	struct shape shape = {.leaf = leaf_raise};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	chains = wrong = 0;
	for (int i = 0; i < 300; i++) {
		shape.pattern = any(1u << 30);
		next_level(&shape, 1 + any(30));
	}
	check(wrong == 0 && chains == 900,
		"chains of a handler on %s stack are libunwind's: %llu of %llu differ",
		alternate ? "an alternate" : "the normal", (unsigned long long)wrong,
		(unsigned long long)chains);
}

/* ---- every instruction ---- */

#if defined(__x86_64__) /* steps by its trap flag, and has its instructions */

static volatile bool stepping;
static uint64_t restorer; /* the code that handlers return to */

static struct callchain_thread memory_at;
static uint64_t chains_at, wrong_at;

static void registers_of(struct registers_all *from, const ucontext_t *u)
{
	static const uint8_t order[CFI_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
		REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_R15, REG_RIP};
	from->exact = true;
	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		from->r[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
}

/* Compare the chain from the registers of the interrupted code with the part of libunwind's chain
 * outside of the handler. */
static __attribute__((noinline)) void compare_at(const ucontext_t *u)
{
	struct registers_all from;
	struct callchain_result result;
	struct oracle_chain expected, found;
	int skip = 0;
	registers_of(&from, u);
	oracle_nodes(callchain_take_at(&memory_at, &from, CALLCHAIN_DEPTH_MAX, 0, &result), &found);
	oracle_step(&expected);
	while (skip < expected.count && expected.address[skip] != from.r[CFI_IP])
		skip++;
	if (from.r[CFI_IP] == restorer) /* where the handler of the trap returns to, too */
		skip++;
	expected.count -= skip;
	memmove(expected.address, expected.address + skip,
		(size_t)expected.count * sizeof(expected.address[0]));
	bool same = found.count && found.address[0] == from.r[CFI_IP] &&
		oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX);
	chains_at++;
	if (!same && wrong_at++ < 3) {
		oracle_print("unw_step", &expected);
		oracle_print("nodes", &found);
	}
}

static void handler_step(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	ucontext_t *u = context;
	restorer = (uint64_t)(uintptr_t)__builtin_return_address(0);
	if (stepping) {
		leaf_compare();
		compare_at(u);
	} else
		u->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
}

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

#define STEP_ON() __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc")

/* The kernel clears the trap flag for a handler, and restores it when the handler returns. */
static void handler_is_stepped(int signal)
{
	char text[16];
	STEP_ON();
	snprintf(text, sizeof(text), "%d", signal);
}

static __attribute__((noinline)) void workload(void)
{
	char text[64];
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now); /* code of the vdso */
	raise(SIGUSR2);
	snprintf(text, sizeof(text), "%d %s %.3f", 42, "abc", sin(any(100)));
	char *block = malloc(100);
	memset(block, 1, 100);
	qsort(text, 10, 1, compare_bytes);
	text[0] = (char)strlen(block ? text : "");
	free(block);
	text[1] = (char)atoi("12");
}

static void every_instruction_is_walked_from(void)
{
	struct sigaction action = {.sa_sigaction = handler_step, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	signal(SIGUSR2, handler_is_stepped);
	chains = wrong = 0;
	for (int round = 0; round < 2; round++) {
		stepping = true;
		STEP_ON();
		workload();
		stepping = false;
		__asm__ volatile("nop");
	}
	check(wrong == 0 && chains > 2000,
		"chains at every instruction of PLT, prologues, the C library, the vdso and a "
		"signal "
		"handler are libunwind's: "
		"%llu of %llu differ",
		(unsigned long long)wrong, (unsigned long long)chains);
	check(wrong_at == 0 && chains_at == chains,
		"and from the registers of each instruction alone: %llu of %llu differ",
		(unsigned long long)wrong_at, (unsigned long long)chains_at);
}

/* ---- code without tables ---- */

/* Functions as a just-in-time compiler writes them: they keep %rbp, and have no tables.
 * outer(callback) calls inner(callback), which calls the callback. */
static const uint8_t jit_outer[] = {
	0x55,                         /* push %rbp */
	0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
	0x53,                         /* push %rbx */
	0x48, 0x83, 0xec, 0x08,       /* sub $8, %rsp */
	0xe8, 0x00, 0x00, 0x00, 0x00, /* call inner */
	0x48, 0x83, 0xc4, 0x08,       /* add $8, %rsp */
	0x5b,                         /* pop %rbx */
	0x5d,                         /* pop %rbp */
	0xc3,                         /* ret */
};
static const uint8_t jit_inner[] = {
	0xf3, 0x0f, 0x1e, 0xfa, /* endbr64 */
	0x55,                   /* push %rbp */
	0x48, 0x8b, 0xec,       /* mov %rsp, %rbp */
	0x48, 0x83, 0xec, 0x20, /* sub $32, %rsp */
	0xff, 0xd7,             /* call *%rdi */
	0x90,                   /* nop */
	0xc9,                   /* leave */
	0xc2, 0x00, 0x00,       /* ret $0 */
};
#define JIT_INNER_AT 64

static void (*jit_make(void))(void (*)(void))
{
	int32_t distance = JIT_INNER_AT - 14;
	uint8_t *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, jit_outer, sizeof(jit_outer));
	memcpy(code + 10, &distance, sizeof(distance));
	memcpy(code + JIT_INNER_AT, jit_inner, sizeof(jit_inner));
	return (void (*)(void (*)(void)))(void *)code;
}

/* The return addresses below the code that is stepped, by where they are stored: what a debugger
 * knows that steps through calls and returns. */
static struct {
	uint64_t slot[64], address[64];
	uint32_t count, outside;
	uint64_t last_ip, last_sp;
} shadow;

static void shadow_step(uint64_t ip, uint64_t sp)
{
	uint64_t top = *(const uint64_t *)(uintptr_t)sp;
	while (shadow.count && shadow.slot[shadow.count - 1] < sp)
		shadow.count--;
	if (sp == shadow.last_sp - 8 && top > shadow.last_ip && top - shadow.last_ip <= 7 &&
		ip != top) {
		shadow.slot[shadow.count] = sp;
		shadow.address[shadow.count++] = top;
	}
	shadow.last_ip = ip;
	shadow.last_sp = sp;
}

static void handler_shadow(int signal, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	struct registers_all from;
	struct callchain_result result;
	struct oracle_chain found;
	(void)signal, (void)info;
	if (!stepping) {
		u->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
		return;
	}
	registers_of(&from, u);
	shadow_step(from.r[CFI_IP], from.r[CFI_SP]);
	oracle_nodes(callchain_take_at(&memory_at, &from, CALLCHAIN_DEPTH_MAX, 0, &result), &found);
	if (!chains_at++)
		shadow.outside = (uint32_t)found.count - 1;
	bool same = (uint32_t)found.count == 1 + shadow.count + shadow.outside &&
		found.address[0] == from.r[CFI_IP];
	for (uint32_t i = 0; same && i < shadow.count; i++)
		same = found.address[1 + i] == shadow.address[shadow.count - 1 - i];
	if (!same && wrong_at++ < 3)
		oracle_print("nodes", &found);
}

static void jit_callback(void)
{
	__asm__ volatile("nop");
}

static __attribute__((noinline)) void jit_call(void (*code)(void (*)(void)))
{
	code(jit_callback);
	__asm__ volatile("nop");
}

/* In its prologue and epilogue a function has no frame by %rbp yet, or no more. */
static void code_without_tables_is_walked_from(void)
{
	struct sigaction action = {.sa_sigaction = handler_shadow, .sa_flags = SA_SIGINFO};
	void (*code)(void (*)(void)) = jit_make();
	sigaction(SIGTRAP, &action, NULL);
	chains_at = wrong_at = 0;
	for (int round = 0; round < 2; round++) {
		stepping = true;
		STEP_ON();
		jit_call(code);
		stepping = false;
		__asm__ volatile("nop");
	}
	check(wrong_at == 0 && chains_at > 50,
		"chains at every instruction of generated code are those of a debugger: %llu of "
		"%llu differ",
		(unsigned long long)wrong_at, (unsigned long long)chains_at);
}

#endif

/* ---- coroutines ---- */

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	struct shape shape = {.leaf = leaf_compare};
	for (int i = 0; i < 3; i++) {
		shape.pattern = any(1u << 30);
		next_level(&shape, 5);
		swapcontext(&coroutine_context, &main_context);
	}
}

static void coroutines_have_chains_of_their_own(void)
{
	struct shape shape = {.leaf = leaf_compare};
	chains = wrong = 0;
	for (volatile int i = 0; i < 100; i++) {
		size_t bytes = 65536 + any(4) * 4096;
		char *stack = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getcontext(&coroutine_context);
		coroutine_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
		coroutine_context.uc_link = &main_context;
		makecontext(&coroutine_context, coroutine, 0);
		for (int k = 0; k < 3; k++) {
			swapcontext(&main_context, &coroutine_context);
			shape.pattern = any(1u << 30);
			next_level(&shape, 1 + any(20));
		}
		munmap(stack, bytes);
	}
	check(wrong == 0 && chains == 600,
		"chains of coroutines on stacks that come and go are libunwind's: %llu of %llu "
		"differ",
		(unsigned long long)wrong, (unsigned long long)chains);
}

int main(void)
{
	oracle_init();
	chains_are_those_of_libunwind();
	handlers_are_walked_through(false);
	handlers_are_walked_through(true);
#if defined(__x86_64__)
	every_instruction_is_walked_from();
	code_without_tables_is_walked_from();
#endif
	coroutines_have_chains_of_their_own();
	return tap_done();
}
