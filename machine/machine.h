/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what depends on the processor: the contracts, which each machine's folder fulfills.
 *
 * Nothing outside of machine/ knows a register, an instruction or a relocation type. A port is a
 * folder with the same files. Each folder's machine.h also defines these constants:
 *
 * MACHINE_NAME            as uname(2) names the processor
 * MACHINE_ELF             e_machine of its programs
 * MACHINE_PAGE_MAX        the largest page size of its kernels; MACHINE_PAGE_MIN is the smallest
 * MACHINE_CLOCKSOURCE     the kernel's name of the counter that machine_counter() reads
 * MACHINE_VDSO_CLOCK      the vdso's clock_gettime()
 * MACHINE_RELOCATE_*      relocation types: RELATIVE, GOT (address in data), PLT (address for
 *                         calls), DATA (address and addend), THREAD (offset of thread-local data)
 * MACHINE_BP, _SP, _IP    DWARF numbers of the frame pointer, stack pointer and return address
 * MACHINE_REGISTERS       1 + the largest number that the unwinder keeps
 * MACHINE_RETURN_COLUMN   the return address's column in call frame information
 * MACHINE_LIBC_MINOR      n of glibc 2.n, the first for this machine
 * MACHINE_FRAME()         an address in the calling function's frame, not in a callee's
 * MACHINE_UNWINDS         whether the unwinder has rules for this machine
 * MACHINE_IP_FIXED        offset of a return address from the CFA; 0 = it is behind the
 *                         saved frame pointer
 * MACHINE_BARE_LEAF       whether an interrupted leaf function may have no frame: CFA = sp
 * MACHINE_SIGRETURN_BARE  whether the return from a signal handler has no tables
 * MACHINE_IP_BREG         whether call frame information reads the instruction pointer
 * MACHINE_FUNCTIONS       1 or 0: whether tracer/functions has stubs; then MACHINE_CALLING names
 *                         a file, too
 * MACHINE_ARGUMENT_WORDS  how many arguments of a call are in general registers
 * MACHINE_SYMBOL_VARIANT  the bit of a symbol's st_other that says that the function has another
 *                         calling convention than usual; 0 = there is none
 * MACHINE_SHOWS_SYSTEM_CALLS  1 or 0: whether machine_is_system_call() can say so
 * MACHINE_COUNTS          1 or 0: whether there is machine_performance_counter()
 * MACHINE_TEXT            the machine as texts for people name it
 * MACHINE_TID_BYTES       from glibc's thread descriptor to its tid
 * MACHINE_SIGNAL_*_BYTES  from the stack pointer of a signal handler's return path to the
 *                         saved registers: FIRST, BP, SP, IP
 *
 * and names two files, each of which one source file includes:
 *
 * MACHINE_UNWINDING  machine_signal_order: DWARF numbers of the registers from SIGNAL_FIRST on.
 *                    registers_here(): unwind/registers.h. machine_room_behind(): bytes between sp
 *                    and the return address, if the instructions at the address say so; 0 = they do
 *                    not. Reads 5 bytes. machine_is_sigreturn(): whether they are the return from a
 *                    signal handler, which has no tables on this machine. Reads 8 bytes.
 * MACHINE_SAMPLES    cpu_entry(), the handler of tracer/cpu/sample.c; cpu_return(), the return from
 *                    it. machine_registers_of(): the registers of a signal's context, by DWARF
 *                    number. machine_is_system_call(): whether they are those with which a
 *                    system call returns.
 * MACHINE_CALLING    For tracer/functions/, whose hot path uses general registers only.
 *                    machine_can_save_vectors(). struct machine_vectors: room for the registers of
 *                    vectors and floats; machine_vectors_save(), machine_vectors_restore().
 *
 * entry.S and function_stubs.S: see there.
 *
 * Every function here may be called by any thread and in signal handlers, and none calls a library.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- clock ---- */

/* Return the counter. It runs at one rate on all processors. The processor may read it early or
 * late, by less than any recorded call takes. */
static inline uint64_t machine_counter(void);

/* Return whether the processor says that the counter runs at one rate in every power state. */
static inline bool machine_counter_is_steady(void);

/* Return the counter's ticks in a second, 0 if the processor does not say. */
static inline uint64_t machine_counter_hz(void);

/* Return the processor's counter of performance events of this number, extended with the sign of
 * its highest bit, of `bits`. Faults where the kernel does not permit it: only for a counter of
 * the calling thread that perf says may be read. 0 unless MACHINE_COUNTS. */
static inline int64_t machine_performance_counter(uint32_t number, unsigned bits);

/* ---- the kernel ---- */

/* Make a system call. Return what the kernel returns: a negative errno, or a result. */
static inline long machine_system_call(long number, long a, long b, long c, long d, long e, long f);

/* Numbers of system calls. */
struct machine_task_calls {
	long clone, exit;
};

/*
 * Call clone(2): the new task calls run(argument) on `stack` (its upper end, aligned to 16 bytes)
 * and exits with the result. Return the task's id or a negative errno. `system` has the numbers of
 * clone and exit.
 */
static inline long machine_clone(struct machine_task_calls system, int (*run)(void *), void *stack,
	long flags, void *argument);

/* Return the thread pointer, which is the address of glibc's thread descriptor or close to it: a
 * different one in each thread. */
static inline uint64_t machine_thread_pointer(void);

/* Return the number of the processor that the thread runs on, 0 where only a system call tells. */
static inline uint32_t machine_processor(void);

/* Return whether Valgrind runs the program, by its client request RUNNING_ON_VALGRIND. */
static inline bool machine_on_valgrind(void);

/* ---- memory that only this thread, its signal handlers and its forked children change ---- */

/* Add to a word. No handler sees or makes a state in between. Not ordered. */
static inline void machine_owner_add(uint64_t *word, uint64_t amount);

/* Add likewise; what the thread stored before is seen by whoever sees the sum (release). */
static inline void machine_owner_publish(uint64_t *word, uint64_t amount);

/* Store `next` if the word is `expected`; return whether it was. Likewise for handlers. */
static inline bool machine_owner_exchange(uint64_t *word, uint64_t expected, uint64_t next);

/* Store first and second in two words, aligned to 16 bytes, if they are those of `expected`; return
 * whether they were, otherwise set `expected` to the present ones. Likewise for handlers. */
static inline bool machine_owner_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second);

/* As machine_owner_exchange_pair(), for words that other processors change, too. */
static inline bool machine_exchange_pair(
	uint64_t *words, uint64_t expected[2], uint64_t first, uint64_t second);

/* ---- the short path of wrappers: tracer/osrt/osrt.h ---- */

/* Return whether the processor has the instructions that the functions of this part use. Where it
 * has not, wrappers take the slow path. */
static inline bool machine_has_short_path(void);

/* As machine_owner_add() and machine_owner_publish(). */
static inline void machine_short_add(uint64_t *word, uint64_t amount);
static inline void machine_short_publish(uint64_t *word, uint64_t amount);

/* Return the address; where it takes several instructions to compute, it is computed once. */
static inline void *machine_kept(void *address);

/* Return the number; where it is not part of other instructions, no register keeps it over a call.
 */
static inline uint64_t machine_number(uint64_t number);

/* Return the lower 16 bits of a word. */
static inline uint64_t machine_low16(const uint64_t *word);

/* Return the address of a static object that is aligned to MACHINE_PAGE_MIN. */
static inline const void *machine_page(const void *object);

/* Return whether both words have a bit in common. */
static inline bool machine_masks_meet(const uint32_t *a, const uint32_t *b);

/* Store four words, aligned to 16 bytes. */
static inline void machine_store_words(
	uint64_t *words, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);

/* The stack pointer of the calling function, which must not have changed in between, or another
 * fixed address in its frame. Store it. */
static inline void machine_sp_store(uint64_t *word);

/* Store 0 if the word is the stack pointer; return whether it was. */
static inline bool machine_sp_clear(uint64_t *word);

/* Subtract it from the word, which is 0 or minus a stack pointer; return whether the word was 0. No
 * handler sees or makes a state in between. */
static inline bool machine_sp_subtract(uint64_t *word);

/* Add it again. */
static inline void machine_sp_add(uint64_t *word);

/* ---- code ---- */

/*
 * Return the bytes between the stack pointer and the CFA of interrupted code that keeps a frame
 * pointer, if the instructions at `code` show that the function has no frame yet, or no more, and
 * that the return address is in memory. More than one word: the caller's frame pointer is at the
 * stack pointer. 0: they do not. Reads the byte before `code` if `before`, and `after` bytes from
 * it, 1 or 5.
 */
static inline uint64_t machine_room_at_edge(const void *code, bool before, unsigned after);

/*
 * Return the entry of a module's tables that has the address of __gmon_start__(), if `code` is the
 * module's start-up code (_init() of crti.o) and does nothing but call that: the code returns what
 * the function returns. NULL: it is another code, or on this machine such code is not recognized.
 * Reads 27 bytes.
 */
static inline const uint64_t *machine_start_slot(const void *code);

/* ---- unwinding ---- */

/* Return the address in a return address as it lies on the stack, where it may be signed. */
static inline uint64_t machine_return_address(uint64_t word);

/* Store the calling function's registers as libunwind's unw_getcontext() does. `getcontext` is that
 * function, NULL where it is a macro: MACHINE_UNW_GETCONTEXT is its name, or NULL. */
static inline void machine_unw_context(int (*getcontext)(void *context), void *context);

/* ---- bytes ---- */

/* Copy `count` bytes between buffers that do not overlap. */
static inline void machine_bytes_copy(void *to, const void *from, size_t count);

/* Copy 16 bytes. Return the index of the first one that is 0, 16 or more if none is. Not checked by
 * sanitizers: it may read behind the end of a text. */
static inline unsigned machine_text_copy16(char *to, const char *from);

/* Return whether machine_crc32c() may be called. */
static inline bool machine_has_crc32c(void);

/* Continue a CRC-32C: `state` is the inverted checksum so far. */
static inline uint32_t machine_crc32c(uint32_t state, const void *data, size_t bytes);

#if defined(__x86_64__)
#include "machine/x86_64/machine.h"
#elif defined(__aarch64__)
#include "machine/aarch64/machine.h"
#else
#error "machine/ has no folder for this processor"
#endif

#endif
