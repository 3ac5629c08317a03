/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - AArch64. The contracts are in machine/machine.h, which includes this file.
 *
 * Only instructions of Armv8.0, except in the short paths of calls, which have those of LSE
 * (Armv8.1): one instruction changes a word. A signal handler between ldxr and stxr makes stxr
 * fail, since the return from it clears the monitor: then the loop begins again.
 */
#ifndef MACHINE_AARCH64_MACHINE_H
#define MACHINE_AARCH64_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "machine/machine.h"

#define MACHINE_NAME "aarch64"
#define MACHINE_TEXT "aarch64"
#define MACHINE_ELF EM_AARCH64
#define MACHINE_PAGE_MIN 4096u
#define MACHINE_PAGE_MAX 65536u
#define MACHINE_CLOCKSOURCE "arch_sys_counter"
#define MACHINE_VDSO_CLOCK "__kernel_clock_gettime"
#define MACHINE_RELOCATE_RELATIVE R_AARCH64_RELATIVE
#define MACHINE_RELOCATE_GOT R_AARCH64_GLOB_DAT
#define MACHINE_RELOCATE_PLT R_AARCH64_JUMP_SLOT
#define MACHINE_RELOCATE_DATA R_AARCH64_ABS64
#define MACHINE_RELOCATE_THREAD R_AARCH64_TLS_TPREL
#define MACHINE_BP 29
#define MACHINE_SP 31
#define MACHINE_IP 32 /* no number of DWARF's: stands for the pc */
#define MACHINE_REGISTERS 33
#define MACHINE_RETURN_COLUMN 30
#define MACHINE_UNWINDS true
#define MACHINE_IP_FIXED 0
#define MACHINE_BARE_LEAF true
#define MACHINE_SIGRETURN_BARE true
#define MACHINE_IP_BREG false
#define MACHINE_FUNCTIONS 1
#define MACHINE_ARGUMENT_WORDS 8u
#define MACHINE_SYMBOL_VARIANT 0x80u /* STO_AARCH64_VARIANT_PCS */
#define MACHINE_SHOWS_SYSTEM_CALLS 0
#define MACHINE_COUNTS 0
#define MACHINE_UNW_GETCONTEXT NULL
#define MACHINE_SIGNAL_FIRST_BYTES 312u /* siginfo, ucontext up to sigcontext.regs */
#define MACHINE_SIGNAL_BP_BYTES (MACHINE_SIGNAL_FIRST_BYTES + 29 * 8)
#define MACHINE_SIGNAL_SP_BYTES (MACHINE_SIGNAL_FIRST_BYTES + 31 * 8)
#define MACHINE_SIGNAL_IP_BYTES (MACHINE_SIGNAL_FIRST_BYTES + 32 * 8)
#define MACHINE_UNWINDING "machine/aarch64/unwinding.h"
#define MACHINE_SAMPLES "machine/aarch64/samples.h"
#define MACHINE_CALLING "machine/aarch64/calling.h"

#define MACHINE_LIBC_MINOR 17
#define MACHINE_TID_BYTES 208u
/* The frame record is at the lower end of a frame: a callee's CFA would not be below it. */
#define MACHINE_FRAME() __builtin_dwarf_cfa()

#define MACHINE_INLINE static inline __attribute__((always_inline))

/* No isb: it takes longer than most calls. */
MACHINE_INLINE uint64_t machine_counter(void)
{
	uint64_t count;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

/* The architecture demands it. */
static inline bool machine_counter_is_steady(void)
{
	return true;
}

static inline uint64_t machine_counter_hz(void)
{
	uint64_t hz;
	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

static inline int64_t machine_performance_counter(uint32_t number, unsigned bits)
{
	(void)number;
	(void)bits;
	return 0;
}

static inline long machine_system_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

/* All registers but x0 are the caller's in the new task, too. */
static inline long machine_clone(struct machine_task_calls system, int (*run)(void *), void *stack,
	long flags, void *argument)
{
	register long x8 __asm__("x8") = system.clone;
	register long x0 __asm__("x0") = flags;
	register void *x1 __asm__("x1") = stack;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register int (*x9)(void *) __asm__("x9") = run;
	register void *x10 __asm__("x10") = argument;
	register long x19 __asm__("x19") = system.exit;
	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x30, #0\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "mov x8, x19\n\t"
			 "svc #0\n\t"
			 "brk #0\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10), "r"(x19)
			 : "x30", "memory", "cc");
	return x0;
}

static inline uint64_t machine_thread_pointer(void)
{
	uint64_t pointer;
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

static inline uint32_t machine_processor(void)
{
	return 0;
}

/* To a processor the instructions are a no-op: rotations by 128 bits in all, and x10 | x10.
 * Valgrind recognizes the sequence, takes the question from x4 and writes its answer to x3. */
static inline bool machine_on_valgrind(void)
{
	volatile uint64_t question[6] = {0x1001};
	register uint64_t answer __asm__("x3") = 0;
	register volatile uint64_t *asked __asm__("x4") = question;
	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\t"
			 "ror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(answer)
			 : "r"(asked)
			 : "memory");
	return answer != 0;
}

/* ---- memory of this thread ---- */

MACHINE_INLINE void machine_owner_add(uint64_t *word, uint64_t amount)
{
	uint64_t sum;
	uint32_t again;
	__asm__ volatile("1:	ldxr %0, %2\n\tadd %0, %0, %3\n\tstxr %w1, %0, %2\n\tcbnz %w1, 1b"
			 : "=&r"(sum), "=&r"(again), "+Q"(*word)
			 : "rI"(amount));
}

MACHINE_INLINE void machine_owner_publish(uint64_t *word, uint64_t amount)
{
	uint64_t sum;
	uint32_t again;
	__asm__ volatile("1:	ldxr %0, %2\n\tadd %0, %0, %3\n\tstlxr %w1, %0, %2\n\tcbnz %w1, 1b"
			 : "=&r"(sum), "=&r"(again), "+Q"(*word)
			 : "rI"(amount)
			 : "memory");
}

MACHINE_INLINE bool machine_owner_exchange(uint64_t *word, uint64_t expected, uint64_t next)
{
	return __atomic_compare_exchange_n(
		word, &expected, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

struct machine_pair {
	uint64_t first, second;
} __attribute__((aligned(16)));

static inline bool machine_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second)
{
	struct machine_pair *pair = (void *)words;
	uint64_t now0, now1;
	uint32_t again;
	__asm__ volatile("1:	ldaxp %0, %1, %3\n\t"
			 "cmp %0, %4\n\tccmp %1, %5, #0, eq\n\tmov %w2, #0\n\tb.ne 2f\n\t"
			 "stlxp %w2, %6, %7, %3\n\tcbnz %w2, 1b\n2:"
			 : "=&r"(now0), "=&r"(now1), "=&r"(again), "+Q"(*pair)
			 : "r"(expected[0]), "r"(expected[1]), "r"(first), "r"(second)
			 : "cc", "memory");
	bool done = now0 == expected[0] && now1 == expected[1];
	expected[0] = now0;
	expected[1] = now1;
	return done;
}

static inline bool machine_owner_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second)
{
	return machine_exchange_pair(words, expected, first, second);
}

#define MACHINE_HWCAP_ATOMICS (1u << 8)

static inline bool machine_has_short_path(void)
{
	return getauxval(AT_HWCAP) & MACHINE_HWCAP_ATOMICS;
}

MACHINE_INLINE void machine_short_add(uint64_t *word, uint64_t amount)
{
	__asm__ volatile(".arch_extension lse\n\tstadd %1, %0" : "+Q"(*word) : "r"(amount));
}

MACHINE_INLINE void machine_short_publish(uint64_t *word, uint64_t amount)
{
	__asm__ volatile(".arch_extension lse\n\tstaddl %1, %0"
			 : "+Q"(*word)
			 : "r"(amount)
			 : "memory");
}

MACHINE_INLINE void *machine_kept(void *address)
{
	__asm__ volatile("" : "+r"(address));
	return address;
}

MACHINE_INLINE uint64_t machine_number(uint64_t number)
{
	uint64_t copy;
	__asm__ volatile("mov %0, %1" : "=r"(copy) : "ri"(number));
	return copy;
}

MACHINE_INLINE uint64_t machine_low16(const uint64_t *word)
{
	uint64_t low;
	__asm__ volatile("ldrh %w0, %1" : "=r"(low) : "m"(*word));
	return low;
}

/* Volatile accesses: atomic ones have no offsets in gcc's code. */
MACHINE_INLINE bool machine_masks_meet(const uint32_t *a, const uint32_t *b)
{
	return *(const volatile uint32_t *)a & *(const volatile uint32_t *)b;
}

MACHINE_INLINE const void *machine_page(const void *object)
{
#ifdef __OPTIMIZE__ /* else it is no constant */
	__asm__("adrp %0, %1" : "=r"(object) : "S"(object));
#endif
	return object;
}

MACHINE_INLINE void machine_store_words(
	uint64_t *words, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	__asm__ volatile("stp %1, %2, [%0]\n\tstp %3, %4, [%0, #16]"
			 :
			 : "r"(words), "r"(first), "r"(second), "r"(third), "r"(fourth)
			 : "memory");
}

/* The frame pointer, which needs no copy to be stored or added. */
MACHINE_INLINE uint64_t machine_sp(void)
{
	return (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

MACHINE_INLINE void machine_sp_store(uint64_t *word)
{
	*(volatile uint64_t *)word = machine_sp();
	__asm__ volatile("" : : : "memory");
}

MACHINE_INLINE bool machine_sp_clear(uint64_t *word)
{
	if (*(volatile uint64_t *)word != machine_sp())
		return false;
	*(volatile uint64_t *)word = 0;
	__asm__ volatile("" : : : "memory");
	return true;
}

MACHINE_INLINE bool machine_sp_subtract(uint64_t *word)
{
	uint64_t before;
	__asm__ volatile(".arch_extension lse\n\tldadd %2, %0, %1"
			 : "=r"(before), "+Q"(*word)
			 : "r"(0 - machine_sp())
			 : "memory");
	return before == 0;
}

MACHINE_INLINE void machine_sp_add(uint64_t *word)
{
	__asm__ volatile("" : : : "memory");
	machine_short_add(word, machine_sp());
	__asm__ volatile("" : : : "memory");
}

/* ---- unwinding ---- */

/* A signature (pointer authentication) and a tag are in the bits above the address. */
MACHINE_INLINE uint64_t machine_return_address(uint64_t word)
{
	return word & 0xffffffffffffull;
}

/* ucontext_t.uc_mcontext.regs begins at byte 184; then come sp and pc. */
MACHINE_INLINE void machine_unw_context(int (*getcontext)(void *context), void *context)
{
	register uint64_t base __asm__("x0") = (uint64_t)(uintptr_t)context + 184;
	(void)getcontext;
	__asm__ volatile("stp x18, x19, [%0, #144]\n\tstp x20, x21, [%0, #160]\n\t"
			 "stp x22, x23, [%0, #176]\n\tstp x24, x25, [%0, #192]\n\t"
			 "stp x26, x27, [%0, #208]\n\tstp x28, x29, [%0, #224]\n\t"
			 "mov x1, sp\n\tstp x30, x1, [%0, #240]\n\tadr x1, .\n\tstr x1, [%0, #256]"
			 :
			 : "r"(base)
			 : "x1", "memory");
}

/* ---- bytes ---- */

/* A call stores no return address. */
static inline uint64_t machine_room_at_edge(const void *code, bool before, unsigned after)
{
	(void)code, (void)before, (void)after;
	return 0;
}

/* Not recognized. */
static inline const uint64_t *machine_start_slot(const void *code)
{
	(void)code;
	return NULL;
}

/* An empty instruction keeps the compiler from making a call of memcpy() of the loop. */
static inline void machine_bytes_copy(void *to, const void *from, size_t count)
{
	typedef uint64_t __attribute__((may_alias, aligned(1))) word;
	unsigned char *t = to;
	const unsigned char *f = from;
	for (; count >= 8; count -= 8, t += 8, f += 8) {
		*(word *)(void *)t = *(const word *)(const void *)f;
		__asm__ volatile("" : : : "memory");
	}
	for (; count; count--) {
		*t++ = *f++;
		__asm__ volatile("" : : : "memory");
	}
}

/* Bit 7 of each byte that is 0, and of bytes of 1 above such a byte. */
static inline uint64_t machine_zero_bytes(uint64_t word)
{
	return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

__attribute__((no_sanitize("address"))) static inline unsigned machine_text_copy16(
	char *to, const char *from)
{
	typedef uint64_t __attribute__((may_alias, aligned(1))) word;
	uint64_t low = *(const word *)(const void *)from,
		 high = *(const word *)(const void *)(from + 8);
	*(word *)(void *)to = low;
	*(word *)(void *)(to + 8) = high;
	low = machine_zero_bytes(low);
	high = machine_zero_bytes(high);
	if (low)
		return (unsigned)__builtin_ctzll(low) / 8;
	return high ? 8 + (unsigned)__builtin_ctzll(high) / 8 : 16;
}

#define MACHINE_HWCAP_CRC32 (1u << 7)

static inline bool machine_has_crc32c(void)
{
	return getauxval(AT_HWCAP) & MACHINE_HWCAP_CRC32;
}

static inline uint32_t machine_crc32c(uint32_t state, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t word;
		__builtin_memcpy(&word, p, 8);
		__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(state) : "r"(word));
	}
	for (; bytes; bytes--)
		__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(state) : "r"(*p++));
	return state;
}

#endif
