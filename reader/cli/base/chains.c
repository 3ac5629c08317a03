/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chains.c - notes about callchains that a command printed.
 */
#include "reader/cli/base/chains.h"

#include "reader/cli/base/message.h"

#define REASONS_COUNTED 64u
#define REASONS_PRINTED 4u

void chains_note_unresolved(const struct symbols *symbols)
{
	struct unresolved rows[REASONS_COUNTED];
	uint64_t more = 0;
	uint32_t count = symbols->no_names ? 0 : symbols_unresolved(symbols, rows, REASONS_COUNTED);
	for (uint32_t i = 0; i < count; i++) {
		const struct unresolved *u = &rows[i];
		if (i >= REASONS_PRINTED)
			more += u->count;
		else if (u->module)
			cli_note("'%s': no function name for %llu callers: %s", u->module,
				(unsigned long long)u->count, u->reason);
		else
			cli_note("no function name for %llu callers: %s",
				(unsigned long long)u->count, u->reason);
	}
	if (more)
		cli_note("no function name for %llu more callers; 'trace dump --json' prints the "
			 "reasons",
			(unsigned long long)more);
}
