/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.c - resolution of all addresses of a report, to store their names in it. */
#include "reader/symbols/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/report/contents.h"

#define ROWS 4096u /* rows of one entry, which stays far below the size of a block */
#define FRAMES (ROWS + 64u)

struct symbolizer {
	struct symbols *symbols;
	struct append *append;
	struct symbolize_tally *tally;
	/* the entry being filled */
	uint32_t process, rows, frames;
	uint64_t last_address;
	int64_t addresses[ROWS];
	uint32_t frame_counts[ROWS], modules[ROWS], reasons[ROWS];
	uint64_t offsets[ROWS];
	uint32_t functions[FRAMES], files[FRAMES], lines[FRAMES];
};

static void entry_end(struct symbolizer *z)
{
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Symbols message = LIBTRACE__SYMBOLS__INIT;
	if (!z->rows)
		return;
	message.has_process = true;
	message.process = z->process;
	message.n_addresses = message.n_frame_counts = message.n_modules = z->rows;
	message.n_offsets = message.n_reasons = z->rows;
	message.n_functions = message.n_files = message.n_lines = z->frames;
	message.addresses = z->addresses;
	message.frame_counts = z->frame_counts;
	message.functions = z->functions;
	message.files = z->files;
	message.lines = z->lines;
	message.modules = z->modules;
	message.offsets = z->offsets;
	message.reasons = z->reasons;
	entry.symbols = &message;
	append_entry(z->append, &entry);
	z->rows = z->frames = 0;
	z->last_address = 0;
}

static void row_add(struct symbolizer *z, uint64_t address, const struct module *module,
	const struct symbol *symbol)
{
	/* Texts must be in the same block as the entry that uses them, or before it. */
	if (z->rows == ROWS || z->frames + symbol->frame_count > FRAMES ||
		z->append->strings.bytes >= APPEND_BLOCK_BYTES)
		entry_end(z);
	uint32_t row = z->rows++;
	z->addresses[row] = (int64_t)(address - z->last_address);
	z->last_address = address;
	z->frame_counts[row] = symbol->frame_count;
	z->modules[row] = module ? module->path : append_text(z->append, symbol->module);
	z->offsets[row] = symbol->offset;
	z->reasons[row] = append_text(z->append, symbol->reason);
	for (uint32_t i = 0; i < symbol->frame_count; i++) {
		const struct symbol_frame *f = &symbol->frames[i];
		z->functions[z->frames] = append_text(z->append, f->function);
		z->files[z->frames] = append_text(z->append, f->file);
		z->lines[z->frames++] = f->line;
	}
}

static void reason_count(struct symbolize_tally *t, const char *reason)
{
	for (uint32_t i = 0; i < SYMBOLIZE_REASONS; i++)
		if (!t->reasons[i].reason || t->reasons[i].reason == reason) {
			t->reasons[i].reason = reason;
			t->reasons[i].count++;
			return;
		}
}

/* Add a row for an address in one module, unless the report already stores its function, or stores
 * a row and no function is found now either. */
static int place_take(
	struct symbolizer *z, struct process *p, uint64_t address, const struct module *module)
{
	bool stored, resolved;
	symbols_stored(z->symbols, p, address, module, &stored, &resolved);
	z->tally->addresses++;
	z->tally->known += resolved;
	if (resolved)
		return 0;
	const struct symbol *symbol = symbols_resolve(z->symbols, p, address, module, UINT64_MAX);
	if (!symbol)
		return -ENOMEM;
	if (stored && symbol->reason) {
		z->tally->known++;
		return 0;
	}
	row_add(z, address, module, symbol);
	z->tally->resolved += !symbol->reason;
	z->tally->unresolved += symbol->reason != NULL;
	if (symbol->reason)
		reason_count(z->tally, symbol->reason);
	return 0;
}

static bool is_same(const struct module *a, const struct module *b)
{
	return a && a->path == b->path && a->build_id == b->build_id && a->bias == b->bias;
}

static int address_take(struct symbolizer *z, struct process *p, uint64_t address)
{
	const struct module *module = module_map_each(&p->modules, address - 1, NULL),
			    *before = NULL;
	if (!module)
		return place_take(z, p, address, NULL);
	int error = 0;
	for (; module && !error; module = module_map_each(&p->modules, address - 1, module)) {
		if (!is_same(before, module))
			error = place_take(z, p, address, module);
		before = module;
	}
	return error;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int process_take(struct symbolizer *z, struct process *p)
{
	const struct callchain_nodes *n = &p->callchains;
	size_t count = 0;
	for (uint32_t i = 0; i < n->count; i++)
		count += n->pieces[i].count;
	uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	count = 0;
	for (uint32_t i = 0; i < n->count; i++)
		for (uint32_t k = 0; k < n->pieces[i].count; k++) {
			uint64_t address = n->pieces[i].addresses[k];
			if (!(address & ADDRESS_PYTHON)) /* Python frames are named in the report */
				addresses[count++] = address;
		}
	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	int error = 0;
	z->process = p->id;
	for (size_t i = 0; !error && i < count; i++)
		if (!i || addresses[i] != addresses[i - 1])
			error = address_take(z, p, addresses[i]);
	entry_end(z);
	free(addresses);
	return error;
}

int symbolize(struct symbols *s, struct append *a, struct symbolize_tally *ret_tally)
{
	struct symbolizer *z = calloc(1, sizeof(*z));
	struct process_list *processes = &s->contents->processes;
	*ret_tally = (struct symbolize_tally){0};
	if (!z)
		return -ENOMEM;
	z->symbols = s;
	z->append = a;
	z->tally = ret_tally;
	append_texts_begin(a, s->contents->strings.last_id);
	int error = 0;
	for (size_t i = 0; !error && i < processes->count; i++)
		if (processes->rows[i]->callchains.count)
			error = process_take(z, processes->rows[i]);
	if (!error)
		error = append_texts_end(a);
	free(z);
	return error;
}
