/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers.c - unwinding with all registers.
 */
#include "unwind/registers.h"

#include "machine/machine.h"
#include MACHINE_UNWINDING
#include "unwind/rules.h"
#include "unwind/stack.h"

static bool read_word(uint64_t address, uint64_t *ret_word)
{
	if (address & 7 || !stack_readable(address))
		return false;
	*ret_word = *(const volatile uint64_t *)(uintptr_t)address;
	return true;
}

static bool value_of(const struct registers_all *registers, uint64_t cfa,
	const struct cfi_value *value, uint64_t *ret_result)
{
	uint64_t base = value->base == CFI_CFA ? cfa : registers->r[value->base];
	uint64_t result = base + (uint64_t)(int64_t)value->offset;
	if (value->loaded && !read_word(result, &result))
		return false;
	*ret_result = result + (uint64_t)(int64_t)value->add;
	return true;
}

static bool step_signal(struct registers_all *registers)
{
	uint64_t at = registers->r[CFI_SP] + MACHINE_SIGNAL_FIRST_BYTES;
	for (unsigned i = 0; i < CFI_REGISTERS; i++, at += 8)
		if (!read_word(at, &registers->r[machine_signal_order[i]]))
			return false;
	registers->exact = true;
	return true;
}

static bool step_frame(struct registers_all *registers, const struct cfi_frame *frame)
{
	struct registers_all out = *registers;
	uint64_t cfa = 0;
	if (!value_of(registers, 0, &frame->cfa, &cfa) || cfa < registers->r[CFI_SP] ||
		(cfa == registers->r[CFI_SP] && !(MACHINE_BARE_LEAF && registers->exact)))
		return false;
	for (unsigned i = 0; i < CFI_REGISTERS; i++) {
		unsigned how = frame->saved[i].how;
		if (how != CFI_AT && how != CFI_IS)
			continue;
		if (!value_of(registers, cfa, &frame->saved[i].value, &out.r[i]) ||
			(how == CFI_AT && !read_word(out.r[i], &out.r[i])))
			return false;
	}
	out.r[CFI_IP] = machine_return_address(out.r[CFI_IP]);
	out.r[CFI_SP] = cfa;
	out.exact = false;
	*registers = out;
	return out.r[CFI_IP] != 0;
}

/* Return whether the word-aligned addresses that hold [address, address + bytes) can be read. */
static bool code_readable(uint64_t address, uint64_t bytes)
{
	return stack_readable(address & ~UINT64_C(7)) &&
		stack_readable((address + bytes - 1) & ~UINT64_C(7));
}

uint64_t registers_room_behind(uint64_t ip)
{
	return code_readable(ip, 5) ? machine_room_behind((const void *)(uintptr_t)ip) : 0;
}

uint64_t registers_room_at_edge(uint64_t ip)
{
	unsigned after = code_readable(ip, 5) ? 5 : code_readable(ip, 1) ? 1 : 0;
	if (!after)
		return 0;
	return machine_room_at_edge((const void *)(uintptr_t)ip, code_readable(ip - 1, 1), after);
}

/* Step out of interrupted code without tables that has no frame yet, or no more. Return false if
 * it is in no prologue or epilogue. */
static bool step_edge(struct registers_all *registers)
{
	uint64_t *r = registers->r, room = registers_room_at_edge(r[CFI_IP]);
	uint64_t cfa = r[CFI_SP] + room;
	if (!room || !read_word(cfa - 8, &r[CFI_IP]) ||
		(room > 8 && !read_word(r[CFI_SP], &r[CFI_BP])))
		return false;
	r[CFI_SP] = cfa;
	registers->exact = false;
	return r[CFI_IP] != 0;
}

bool registers_at_sigreturn(uint64_t ip)
{
	return MACHINE_SIGRETURN_BARE && code_readable(ip, 8) &&
		machine_is_sigreturn((const void *)(uintptr_t)ip);
}

/* Step out of code without tables: it keeps rbp, or the instruction after the call says the size
 * of its frame. */
static bool step_guess(struct registers_all *registers)
{
	uint64_t *r = registers->r, bp = r[CFI_BP];
	if (registers->exact && step_edge(registers))
		return true;
	uint64_t room = registers->exact ? 0 : registers_room_behind(r[CFI_IP]);
	uint64_t cfa = room ? r[CFI_SP] + room + 8 : bp + 16;
	if (registers_at_sigreturn(r[CFI_IP]))
		return step_signal(registers);
	if (!room && (bp - r[CFI_SP] > GUESS_MAX_BYTES || !read_word(bp, &r[CFI_BP])))
		return false;
	if (!read_word(cfa - 8, &r[CFI_IP]))
		return false;
	r[CFI_IP] = machine_return_address(r[CFI_IP]);
	r[CFI_SP] = cfa;
	registers->exact = false;
	return r[CFI_IP] != 0;
}

bool registers_step(struct registers_all *registers)
{
	struct cfi_object object;
	struct cfi_frame frame = {.kind = CFI_NO_FDE};
	uint64_t address = registers->r[CFI_IP] - !registers->exact;
	if (rules_object(address, &object))
		cfi_find_frame(&object, address, &frame);
	switch (frame.kind) {
	case CFI_FRAME:
		return step_frame(registers, &frame);
	case CFI_SIGNAL:
		return step_signal(registers);
	case CFI_NO_FDE:
		return step_guess(registers);
	default:
		return false;
	}
}

#define HANDLER_FRAMES_MAX 200u

bool registers_in_handler(void)
{
	struct registers_all registers;
	registers_here(&registers);
	for (unsigned i = 0; i < HANDLER_FRAMES_MAX && registers_step(&registers); i++)
		if (registers.exact)
			return true;
	return false;
}
