/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - x86-64. The contracts are in machine/machine.h, which includes this file.
 */
#ifndef MACHINE_X86_64_MACHINE_H
#define MACHINE_X86_64_MACHINE_H

#include <cpuid.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/machine.h"

#define MACHINE_NAME "x86_64"
#define MACHINE_TEXT "x86-64"
#define MACHINE_ELF EM_X86_64
#define MACHINE_PAGE_MIN 4096u
#define MACHINE_PAGE_MAX 4096u
#define MACHINE_CLOCKSOURCE "tsc"
#define MACHINE_VDSO_CLOCK "__vdso_clock_gettime"
#define MACHINE_RELOCATE_RELATIVE R_X86_64_RELATIVE
#define MACHINE_RELOCATE_GOT R_X86_64_GLOB_DAT
#define MACHINE_RELOCATE_PLT R_X86_64_JUMP_SLOT
#define MACHINE_RELOCATE_DATA R_X86_64_64
#define MACHINE_RELOCATE_THREAD R_X86_64_TPOFF64
#define MACHINE_BP 6
#define MACHINE_SP 7
#define MACHINE_IP 16
#define MACHINE_REGISTERS 17
#define MACHINE_RETURN_COLUMN MACHINE_IP
#define MACHINE_UNWINDS true
#define MACHINE_IP_FIXED (-8)
#define MACHINE_BARE_LEAF false
#define MACHINE_SIGRETURN_BARE false
#define MACHINE_IP_BREG true
#define MACHINE_FUNCTIONS 1
#define MACHINE_ARGUMENT_WORDS 6u
#define MACHINE_SYMBOL_VARIANT 0u
#define MACHINE_SHOWS_SYSTEM_CALLS 1
#define MACHINE_COUNTS 1
#define MACHINE_UNW_GETCONTEXT "_Ux86_64_getcontext"
#define MACHINE_SIGNAL_FIRST_BYTES 40u
#define MACHINE_SIGNAL_BP_BYTES 120u
#define MACHINE_SIGNAL_SP_BYTES 160u
#define MACHINE_SIGNAL_IP_BYTES 168u
#define MACHINE_UNWINDING "machine/x86_64/unwinding.h"
#define MACHINE_SAMPLES "machine/x86_64/samples.h"
#define MACHINE_CALLING "machine/x86_64/calling.h"

#define MACHINE_LIBC_MINOR 2
#define MACHINE_TID_BYTES 720u
#define MACHINE_FRAME() __builtin_frame_address(0)

#define MACHINE_INLINE static inline __attribute__((always_inline))

/* rdtsc clears the upper halves. Without a fence it takes 8 ns. */
MACHINE_INLINE uint64_t machine_counter(void)
{
	uint64_t ticks;
	__asm__ volatile("rdtsc\n\tshlq $32, %%rdx\n\torq %%rdx, %0" : "=a"(ticks) : : "rdx", "cc");
	return ticks;
}

/* Bit 8 of leaf 0x80000007. */
static inline bool machine_counter_is_steady(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

static inline uint64_t machine_counter_hz(void)
{
	return 0;
}

static inline int64_t machine_performance_counter(uint32_t number, unsigned bits)
{
	uint32_t low, high;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
	return (int64_t)(((uint64_t)high << 32 | low) << (64 - bits)) >> (64 - bits);
}

static inline long machine_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* All registers but rax, rcx and r11 are the caller's in the new task, too. */
static inline long machine_clone(struct machine_task_calls system, int (*run)(void *), void *stack,
	long flags, void *argument)
{
	const long exit_number = system.exit;
	register long no_tid __asm__("r10") = 0;
	register long no_tls __asm__("r8") = 0;
	register int (*task_run)(void *) __asm__("r9") = run;
	register void *task_argument __asm__("r12") = argument;
	register long task_exit __asm__("r13") = exit_number;
	long result;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%r12, %%rdi\n\t"
			 "callq *%%r9\n\t"
			 "movl %%eax, %%edi\n\t"
			 "movl %%r13d, %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"(system.clone), "D"(flags), "S"(stack), "d"(0L), "r"(no_tid),
			 "r"(no_tls), "r"(task_run), "r"(task_argument), "r"(task_exit)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

static inline uint64_t machine_thread_pointer(void)
{
	uint64_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* The kernel stores the number in a segment's limit, for the vdso. */
static inline uint32_t machine_processor(void)
{
	uint32_t limit = 0;
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7bu) : "cc");
	return limit & 0xfff;
}

/* To a processor the instructions are a no-op: rotations by 128 bits in all, and an exchange of a
 * register with itself. Valgrind recognizes the sequence and writes its answer to rdx. */
static inline bool machine_on_valgrind(void)
{
	uint64_t answer = 0;
	volatile uint64_t question[6] = {0x1001};
	__asm__ volatile("rol $3, %%rdi\n\trol $13, %%rdi\n\trol $61, %%rdi\n\trol $51, %%rdi\n\t"
			 "xchg %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
	return answer != 0;
}

/* ---- one instruction each, without a lock prefix; stores stay in order on this machine ---- */

MACHINE_INLINE void machine_owner_add(uint64_t *word, uint64_t amount)
{
	if (__builtin_constant_p(amount) && amount == 1)
		__asm__ volatile("incq %0" : "+m"(*word) : : "cc");
	else
		__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(amount) : "cc");
}

MACHINE_INLINE void machine_owner_publish(uint64_t *word, uint64_t amount)
{
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(amount) : "cc", "memory");
}

static inline bool machine_has_short_path(void)
{
	return true;
}

MACHINE_INLINE void machine_short_add(uint64_t *word, uint64_t amount)
{
	machine_owner_add(word, amount);
}

MACHINE_INLINE void machine_short_publish(uint64_t *word, uint64_t amount)
{
	machine_owner_publish(word, amount);
}

MACHINE_INLINE void *machine_kept(void *address)
{
	return address;
}

MACHINE_INLINE uint64_t machine_number(uint64_t number)
{
	return number;
}

MACHINE_INLINE const void *machine_page(const void *object)
{
	return object;
}

MACHINE_INLINE void machine_store_words(
	uint64_t *words, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	words[0] = first;
	words[1] = second;
	words[2] = third;
	words[3] = fourth;
}

MACHINE_INLINE bool machine_owner_exchange(uint64_t *word, uint64_t expected, uint64_t next)
{
	bool done;
	__asm__ volatile("cmpxchgq %3, %0"
			 : "+m"(*word), "+a"(expected), "=@ccz"(done)
			 : "r"(next)
			 : "memory");
	return done;
}

struct machine_pair {
	uint64_t first, second;
};

static inline bool machine_owner_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second)
{
	struct machine_pair *pair = (void *)words;
	bool done;
	__asm__ volatile("cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*pair), "+a"(expected[0]), "+d"(expected[1])
			 : "b"(first), "c"(second)
			 : "memory");
	return done;
}

static inline bool machine_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second)
{
	struct machine_pair *pair = (void *)words;
	bool done;
	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*pair), "+a"(expected[0]), "+d"(expected[1])
			 : "b"(first), "c"(second)
			 : "memory");
	return done;
}

MACHINE_INLINE uint64_t machine_low16(const uint64_t *word)
{
	uint64_t low;
	__asm__ volatile("movzwl %1, %k0" : "=r"(low) : "m"(*word));
	return low;
}

/* One comparison with memory; the compiler would load both words. */
MACHINE_INLINE bool machine_masks_meet(const uint32_t *a, const uint32_t *b)
{
	__asm__ goto("movl %0, %%eax\n\ttestl %%eax, %1\n\tje %l2"
		     :
		     : "m"(*a), "m"(*b)
		     : "eax", "cc"
		     : apart);
	return true;
apart:
	return false;
}

MACHINE_INLINE void machine_sp_store(uint64_t *word)
{
	__asm__ volatile("movq %%rsp, %0" : "=m"(*word) : : "memory");
}

MACHINE_INLINE bool machine_sp_clear(uint64_t *word)
{
	__asm__ goto("cmpq %%rsp, %0\n\tjne %l1\n\tmovq $0, %0"
		     :
		     : "m"(*word)
		     : "cc", "memory"
		     : another);
	return true;
another:
	return false;
}

MACHINE_INLINE bool machine_sp_subtract(uint64_t *word)
{
	__asm__ goto("subq %%rsp, %0\n\tjae %l1" : : "m"(*word) : "cc", "memory" : taken);
	return true;
taken:
	return false;
}

MACHINE_INLINE void machine_sp_add(uint64_t *word)
{
	__asm__ volatile("addq %%rsp, %0" : "+m"(*word) : : "cc", "memory");
}

/* ---- unwinding ---- */

MACHINE_INLINE uint64_t machine_return_address(uint64_t word)
{
	return word;
}

MACHINE_INLINE void machine_unw_context(int (*getcontext)(void *context), void *context)
{
	getcontext(context);
}

/* ---- bytes ---- */

/* rbp is the caller's before `push %rbp` and at `ret`, and at sp before `mov %rsp, %rbp`. */
static inline uint64_t machine_room_at_edge(const void *code, bool before, unsigned after)
{
	enum { PUSH_RBP = 0x55, RET = 0xc3, RET_POPS = 0xc2 };
	const uint8_t *c = code;
	if (c[0] == PUSH_RBP || c[0] == RET || c[0] == RET_POPS)
		return 8;
	if (after < 5)
		return 0;
	bool is_endbr = c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e && c[3] == 0xfa;
	if (is_endbr && c[4] == PUSH_RBP)
		return 8;
	bool moves = (c[1] == 0x89 && c[2] == 0xe5) || (c[1] == 0x8b && c[2] == 0xec);
	return c[0] == 0x48 && moves && before && c[-1] == PUSH_RBP ? 16 : 0;
}

/* sub $8, %rsp; mov SLOT(%rip), %rax; test %rax, %rax; je 1f; call *%rax; 1: add $8, %rsp; ret */
static inline const uint64_t *machine_start_slot(const void *code)
{
	const uint8_t *at = code;
	struct {
		uint64_t begin, middle;
		uint32_t end, endbr;
		int32_t distance;
	} word;
	__builtin_memcpy(&word.endbr, at, 4);
	at += word.endbr == 0xfa1e0ff3u ? 4 : 0;
	__builtin_memcpy(&word.begin, at, 8);
	__builtin_memcpy(&word.distance, at + 7, 4);
	__builtin_memcpy(&word.middle, at + 11, 8);
	__builtin_memcpy(&word.end, at + 19, 4);
	if (word.begin << 8 != UINT64_C(0x058b4808ec834800) ||
		word.middle != UINT64_C(0x48d0ff0274c08548) || word.end != 0xc308c483u)
		return NULL;
	return (const uint64_t *)(const void *)(at + 11 + word.distance);
}

static inline void machine_bytes_copy(void *to, const void *from, size_t count)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

/* Not by intrinsics: files that use general registers only include this, too. */
static inline unsigned machine_text_copy16(char *to, const char *from)
{
	unsigned ends;
	__asm__ volatile("movdqu (%1), %%xmm0\n\tmovdqu %%xmm0, (%2)\n\tpxor %%xmm1, %%xmm1\n\t"
			 "pcmpeqb %%xmm1, %%xmm0\n\tpmovmskb %%xmm0, %0"
			 : "=r"(ends)
			 : "r"(from), "r"(to)
			 : "xmm0", "xmm1", "memory");
	return ends ? (unsigned)__builtin_ctz(ends) : 16;
}

/* Execute cpuid once. glibc has a function for this only since 2.33; the compiler's check reads
 * many leaves, which takes 100 us in a virtual machine. */
static inline bool machine_has_crc32c(void)
{
	static uint32_t known; /* 0: not asked yet, 1: no, 2: yes */
	uint32_t answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (!answer) {
		unsigned a, b, c, d;
		__cpuid(1, a, b, c, d);
		answer = c & bit_SSE4_2 ? 2 : 1;
		__atomic_store_n(&known, answer, __ATOMIC_RELAXED);
	}
	return answer == 2;
}

__attribute__((target("sse4.2"))) static inline uint32_t machine_crc32c(
	uint32_t state, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t wide = state;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;
		__builtin_memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	while (bytes--)
		wide = __builtin_ia32_crc32qi((uint32_t)wide, *p++);
	return (uint32_t)wide;
}

#endif
