/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind_damage.c - tests of unusual stacks: damaged words, code without tables, frames that
 * only libunwind understands.
 *
 * A chain may end early, and is marked so; the program continues.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__)
#include <stdio.h>
int main(void)
{
	printf("1..0 # SKIP its stacks and code are those of x86-64\n");
	return 0;
}
#else
#include "common/sys.h"
#include "tap.h"
#include "tests/unit/unwind_oracle.h"
#include "unwind/fallback.h"

#define STACK_BYTES 65536
#if defined(__SANITIZE_ADDRESS__)
#define STACKS_ARE_GUARDED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACKS_ARE_GUARDED 1
#endif
#endif

static struct callchain_thread memory;
static struct callchain_result result;
static struct oracle_chain expected, found;
static uint64_t random_state = 88172645463325252u;

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- damaged words ---- */

static ucontext_t main_context, other_context;
static char *stack;
static uint64_t rounds, lost, longest;

static uint64_t any_word(uint64_t here)
{
	uint64_t near = (uint64_t)(uintptr_t)stack + any() % (STACK_BYTES + 8192);
	switch (any() % 6) {
	case 0:
		return any();
	case 1:
		return any() % 4096;
	case 2:
		return near & ~7ull;
	case 3:
		return near;
	case 4:
		return (uint64_t)(uintptr_t)stack + STACK_BYTES - any() % 64 * 8;
	default:
		return here + any() % 256 - 128;
	}
}

/* Overwrite words of the stack outside of this frame, take a chain, and restore them. */
static __attribute__((noinline)) uint32_t leaf_damage(void)
{
	static char saved[STACK_BYTES];
	char *from = __builtin_frame_address(0);
	size_t bytes = (size_t)(stack + STACK_BYTES - from);
	uint64_t *words = (uint64_t *)(void *)from;
	memcpy(saved, from, bytes);
	for (uint64_t i = 0; i < 1 + rounds % 5; i++) {
		uint64_t at = any() % (rounds & 1 ? bytes / 8 : 64);
		words[at] = any_word(words[at]);
	}
	callchain_take(
		&memory, CALLCHAIN_DEPTH_MAX, rounds % 3 ? 0 : CALLCHAIN_FRAME_POINTERS, &result);
	memcpy(from, saved, bytes);
	longest = result.count > longest ? result.count : longest;
	lost += result.end == CALLCHAIN_LOST;
	return result.count;
}

static __attribute__((noinline)) uint32_t level(uint32_t (*leaf)(void), uint32_t depth)
{
	volatile char room[64];
	volatile char *more = __builtin_alloca(16 + depth % 3 * 32);
	room[0] = more[0] = 1;
	return (depth ? level(leaf, depth - 1) : leaf()) + (uint32_t)(room[0] == 2);
}

static void damaged(void)
{
	for (rounds = 0; rounds < 20000; rounds++)
		level(leaf_damage, 10);
}

__attribute__((unused)) static void damaged_stacks_do_no_harm(void)
{
	/* A stack with unmapped memory on both sides. */
	char *map = mmap(NULL, STACK_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack = map + 4096;
	mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE);
	getcontext(&other_context);
	other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
	other_context.uc_link = &main_context;
	makecontext(&other_context, damaged, 0);
	swapcontext(&main_context, &other_context);
	check(rounds == 20000 && longest <= CALLCHAIN_DEPTH_MAX && lost > 5000,
		"20000 damaged stacks do not crash: %llu chains were lost, the longest has %llu "
		"frames",
		(unsigned long long)lost, (unsigned long long)longest);
	munmap(map, STACK_BYTES + 8192);
}

/* ---- a stack whose neighbor is unmapped ---- */

#define ABOVE_BYTES 8192
static uint32_t frames_before, frames_behind, depth_before;

/*
 * Another stack, at whose outer end the unwinder finds no end marker: the last frame returns to
 * where a frame of a fixed size would be, again and again, into what is above the stack. These
 * chains are cut at their depth, so they are remembered.
 */
static __attribute__((noinline)) uint32_t leaf_twice(void)
{
	callchain_take(&memory, depth_before, 0, &result);
	frames_before = result.count;
	callchain_take(&memory, depth_before, 0, &result);
	munmap(stack + STACK_BYTES, ABOVE_BYTES);
	callchain_take(&memory, depth_before, 0, &result);
	frames_behind = result.count;
	return 0;
}

static __attribute__((noinline)) uint32_t fixed_frame(void)
{
	volatile char room[64];
	room[0] = 1;
	return leaf_twice() + (uint32_t)(room[0] == 2);
}

static void switched_to(void)
{
	fixed_frame();
	setcontext(&main_context);
}

/* The frame that returns into fixed_frame() looks the same at each step. */
__attribute__((unused)) static void what_lies_above_a_stack_may_go(void)
{
	char *map = mmap(NULL, STACK_BYTES + ABOVE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *word = (uint64_t *)(void *)map;
	stack = map;
	memset(&memory, 0, sizeof(memory));
	/* Each word is a return address into fixed_frame(), after its call. */
	const uint8_t *code = (const uint8_t *)(uintptr_t)fixed_frame;
	while (*code != 0xe8 ||
		code + 5 + *(const int32_t *)(const void *)(code + 1) !=
			(const uint8_t *)(uintptr_t)leaf_twice)
		code++;
	for (size_t i = 0; i < (STACK_BYTES + ABOVE_BYTES) / 8; i++)
		word[i] = (uint64_t)(uintptr_t)(code + 5);
	getcontext(&other_context);
	other_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES - 64};
	other_context.uc_link = NULL;
	makecontext(&other_context, switched_to, 0);
	/* The outer end has no end marker: it returns into fixed_frame(), too. */
	*(uint64_t *)(uintptr_t)other_context.uc_mcontext.gregs[REG_RSP] =
		(uint64_t)(uintptr_t)(code + 5);
	depth_before = 64;
	if (getcontext(&main_context) == 0 && !frames_before)
		setcontext(&other_context);
	check(frames_before == depth_before && frames_behind < frames_before && frames_behind >= 3,
		"a chain into memory above a stack has %u frames, and %u after that is unmapped",
		frames_before, frames_behind);
	munmap(map, STACK_BYTES);
}

/* ---- other frames ---- */

static __attribute__((noinline)) uint32_t leaf_compare(void)
{
	uint32_t id = callchain_take(&memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	oracle_step(&expected);
	oracle_nodes(id, &found);
	return 0;
}

/* Call `leaf` twice from code without tables. */
static void call_by_made_code(const uint8_t *code, size_t bytes, uint32_t (*leaf)(void))
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, bytes);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	void (*function)(uint32_t(*)(void));
	*(void **)&function = page;
	function(leaf);
	function(leaf);
	munmap(page, 4096);
}

static void code_made_at_run_time(void)
{
	/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	call_by_made_code(code, sizeof(code), leaf_compare);
	check(oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) &&
			result.end == CALLCHAIN_WHOLE && result.walked == 3,
		"code without tables is walked by rbp, and remembered: %u frames, %u walked",
		result.count, result.walked);
}

static int errno_changed;

static __attribute__((noinline)) uint32_t leaf_check_errno(void)
{
	errno = ENOTTY;
	uint32_t id = callchain_take(&memory, CALLCHAIN_DEPTH_MAX, CALLCHAIN_CHECK, &result);
	errno_changed |= errno != ENOTTY;
	return id;
}

/* The CFA of this frame is an expression with an operation that the rules do not support. */
__asm__(".text\n.type odd_frame, @function\nodd_frame:\n.cfi_startproc\nsub $8, %rsp\n"
	".cfi_escape 0x0f, 0x04, 0x77, 0x10, 0x30, 0x13\ncall *%rdi\nadd $8, %rsp\n"
	".cfi_escape 0x0f, 0x04, 0x77, 0x08, 0x30, 0x13\nret\n.cfi_endproc\n"
	".size odd_frame, .-odd_frame\n");
void odd_frame(uint32_t (*leaf)(void));

static __attribute__((noinline)) int load_libunwind(void)
{
	char folder[512];
	const char *build = getenv("BUILD");
	snprintf(folder, sizeof(folder), "%s/lib/libtrace", build ? build : "build");
	if (access(folder, R_OK) != 0)
		return -ENOENT;
	const struct fallback_setup setup = {.folder = folder, .open = dlopen, .symbol = dlsym};
	return fallback_load(&setup);
}

static void frames_for_libunwind(void)
{
	uint64_t lost_before = callchain_counts().lost;
	odd_frame(leaf_compare);
	check(result.end == CALLCHAIN_LOST && result.count == 2 && found.count == 2 &&
			callchain_counts().lost == lost_before + 1,
		"without libunwind a frame that the rules do not support ends the chain: %u frames",
		result.count);
	if (load_libunwind() != 0) {
		check(true, "# SKIP no libunwind in the build folder");
		return;
	}
	odd_frame(leaf_compare);
	check(oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX) &&
			result.method == CALLCHAIN_LIBUNWIND && result.end == CALLCHAIN_WHOLE,
		"with libunwind a chain through such a frame is whole: %u frames", result.count);
	leaf_compare();
	check(result.method == CALLCHAIN_RULES &&
			oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX),
		"the chain after it needs no libunwind");
	/* push rbp; mov ebp, 0x1000; call rdi; pop rbp; ret: libunwind tries an address that is
	 * invalid */
	static const uint8_t code[] = {0x55, 0xbd, 0, 0x10, 0, 0, 0xff, 0xd7, 0x5d, 0xc3};
	call_by_made_code(code, sizeof(code), leaf_check_errno);
	check(!errno_changed, "errno stays unchanged when libunwind fails");
	struct callchain_counts before = callchain_counts();
	for (int i = 0; i < 100; i++)
		callchain_take(&memory, CALLCHAIN_DEPTH_MAX, CALLCHAIN_CHECK, &result);
	struct callchain_counts after = callchain_counts();
	check(after.checked - before.checked == 100 && after.different == before.different,
		"LIBTRACE_BACKTRACE=check finds no difference: %llu of %llu differ",
		(unsigned long long)(after.different - before.different),
		(unsigned long long)(after.checked - before.checked));
}

/* ---- system calls ---- */

static uint32_t calls_made;

static bool count_calls(long number, const long argument[6], long *ret_result)
{
	(void)number;
	(void)argument;
	(void)ret_result;
	calls_made++;
	return false;
}

static bool fail_calls(long number, const long argument[6], long *ret_result)
{
	(void)number;
	(void)argument;
	*ret_result = -EPERM;
	return true;
}

static __attribute__((noinline)) uint32_t leaf_take(void)
{
	callchain_take(&memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	return 0;
}

static void warm_chains_make_no_system_call(void)
{
	for (uint32_t i = 0; i < 1040; i++) {
		sys_override = i >= 40 ? count_calls : NULL;
		level(leaf_take, i % 40);
	}
	sys_override = NULL;
	check(calls_made == 0, "1000 warm chains make no system call: %u", calls_made);
	memset(&memory, 0, sizeof(memory));
	sys_override = fail_calls;
	uint32_t id = callchain_take(&memory, CALLCHAIN_DEPTH_MAX, 0, &result);
	sys_override = NULL;
	check(id == 0 && result.end == CALLCHAIN_LOST,
		"no chain is taken where memory may not be probed");
	level(leaf_take, 3);
	check(result.end == CALLCHAIN_WHOLE, "chains are taken again when memory may be probed");
}

static void forked_children_start_anew(void)
{
	leaf_compare();
	uint32_t before = result.count;
	callchain_forked();
	memset(oracle_chunks, 0, sizeof(oracle_chunks));
	leaf_compare();
	check(result.count == before && oracle_same(&expected, &found, CALLCHAIN_DEPTH_MAX),
		"a forked child names its chains in a tree of its own");
}

int main(void)
{
	oracle_init();
#if !defined(STACKS_ARE_GUARDED)
	damaged_stacks_do_no_harm();
	what_lies_above_a_stack_may_go();
#endif
	code_made_at_run_time();
	frames_for_libunwind();
	forked_children_start_anew();
	warm_chains_make_no_system_call();
	return tap_done();
}
#endif
