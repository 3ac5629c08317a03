/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubins.c - the code of CUDA modules: pieces, entries, names of functions.
 */
#define _GNU_SOURCE
#include "writer/cuda/cubins.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/cuda/cuda_spool.h"
#include "common/schema/cuda_columns.h"
#include "writer/base/notes.h"

#define CUBINS_MAX 4096u            /* maximum per process */
#define CUBIN_BYTES_MAX (48u << 20) /* readers accept blocks of at most 64 MiB */
#define MODULES_MAX 65536u
#define ELF_MACHINE_CUDA 190u

struct cubin {
	uint64_t hash, total_bytes;
	const struct lane_view *lane; /* lane that had the latest piece */
	struct buffer code; /* the pieces so far; once it is whole and written, only its length */
	char *names;        /* names of its functions, one after another */
	char **function;    /* names, sorted */
	uint32_t function_count;
	bool is_whole;
};

struct context_module {
	uint64_t hash;
	uint32_t context;
};

struct cubins {
	struct cubin *rows;
	uint32_t count, capacity;
	struct context_module *modules; /* modules in the order of their loading */
	uint32_t module_count, module_capacity;
	uint32_t refused; /* cubins refused because there was no room */
	bool is_reported; /* the note about missing cubins is written */
};

static void cubins_release(void *data)
{
	struct cubins *c = data;
	for (uint32_t i = 0; i < c->count; i++) {
		free(c->rows[i].code.data);
		free(c->rows[i].names);
		free(c->rows[i].function);
	}
	free(c->rows);
	free(c->modules);
}

static struct cubins *cubins_of(struct spool *spool)
{
	return slot_get(&spool->slots[SLOT_CUBINS], sizeof(struct cubins), cubins_release);
}

static uint64_t reference_of(uint64_t hash)
{
	return hash | 1;
}

/* ---- the content of a cubin ---- */

static const void *part(const struct cubin *c, uint64_t offset, uint64_t bytes)
{
	return offset <= c->code.bytes && bytes <= c->code.bytes - offset ? c->code.data + offset
									  : NULL;
}

static bool section(const struct cubin *c, const Elf64_Ehdr *elf, uint32_t index, Elf64_Shdr *ret)
{
	const void *at = index < elf->e_shnum && elf->e_shentsize == sizeof(*ret)
		? part(c, elf->e_shoff + (uint64_t)index * sizeof(*ret), sizeof(*ret))
		: NULL;
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

/* Find the symbol table and its texts, which end with a NUL. */
static bool symbols_find(const struct cubin *c, const Elf64_Ehdr *elf, Elf64_Shdr *ret_symbols,
	Elf64_Shdr *ret_texts)
{
	for (uint32_t i = 0; section(c, elf, i, ret_symbols); i++) {
		if (ret_symbols->sh_type != SHT_SYMTAB)
			continue;
		const char *texts = section(c, elf, ret_symbols->sh_link, ret_texts)
			? part(c, ret_texts->sh_offset, ret_texts->sh_size)
			: NULL;
		return texts && ret_texts->sh_size && !texts[ret_texts->sh_size - 1] &&
			part(c, ret_symbols->sh_offset, ret_symbols->sh_size);
	}
	return false;
}

/* Many symbols may have the same name, which is written for each symbol. All names together are no
 * longer than the code. */
#define SYMBOL_BYTES_MAX 4096u
#define SYMBOLS_BYTES_MAX (8u << 20)
#define SYMBOL_ENTRY_BYTES 32u /* bytes of an entry without the name */

static bool is_short_ascii(const char *text)
{
	size_t i = 0;
	while (i < SYMBOL_BYTES_MAX && text[i] && !(text[i] & 0x80))
		i++;
	return i < SYMBOL_BYTES_MAX && !text[i];
}

/* Return the name of a function that the cubin defines; NULL if the symbol is not such a
 * function. */
static const char *function_name(
	const struct cubin *c, const Elf64_Sym *symbol, const Elf64_Shdr *texts)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
		!symbol->st_name || symbol->st_name >= texts->sh_size)
		return NULL;
	const char *name = part(c, texts->sh_offset + symbol->st_name, 1);
	return name && is_short_ascii(name) ? name : NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Read the functions into entries (*ret_rows, which the caller frees) and their sorted names.
 * Addresses are those in the file, because the address of the code in the process is not known.
 * Return the number of functions. */
static uint32_t functions_read(
	struct cubin *c, const Elf64_Ehdr *elf, Ncu__RelocationSymbolEntry **ret_rows)
{
	Elf64_Shdr symbols, texts, code;
	if (!symbols_find(c, elf, &symbols, &texts))
		return 0;
	uint64_t most = symbols.sh_size / sizeof(Elf64_Sym);
	const char *blob = part(c, texts.sh_offset, texts.sh_size);
	Ncu__RelocationSymbolEntry *rows = calloc(most + 1, sizeof(*rows));
	c->names = malloc(texts.sh_size);
	c->function = calloc(most + 1, sizeof(*c->function));
	if (!rows || !c->names || !c->function) {
		free(rows);
		return 0;
	}
	memcpy(c->names, blob, texts.sh_size);
	uint64_t limit = c->code.bytes < SYMBOLS_BYTES_MAX ? c->code.bytes : SYMBOLS_BYTES_MAX;
	for (uint64_t i = 0, bytes = 0; i < most && bytes < limit; i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, part(c, symbols.sh_offset + i * sizeof(symbol), sizeof(symbol)),
			sizeof(symbol));
		const char *name = function_name(c, &symbol, &texts);
		if (!name || !section(c, elf, symbol.st_shndx, &code))
			continue;
		Ncu__RelocationSymbolEntry *row = &rows[c->function_count];
		ncu__relocation_symbol_entry__init(row);
		row->symbol_name = c->names + (name - blob);
		row->has_address = row->has_symbol_index = 1;
		row->address = code.sh_offset + symbol.st_value;
		row->symbol_index = (uint32_t)i;
		c->function[c->function_count++] = row->symbol_name;
		bytes += strlen(name) + SYMBOL_ENTRY_BYTES;
	}
	qsort(c->function, c->function_count, sizeof(*c->function), by_text);
	*ret_rows = rows;
	return c->function_count;
}

/* Return the architecture of the code: 90 is 9.0. CUDA 13 stores it in other bits. */
static uint32_t architecture_of(const Elf64_Ehdr *elf)
{
	return elf->e_ident[EI_ABIVERSION] >= 8 ? elf->e_flags >> 8 & 0xff : elf->e_flags & 0xff;
}

/* ---- the entry ---- */

struct cubin_hashes { /* hashes of the modules that are in the report */
	uint64_t *list;
	uint32_t count, capacity;
};

static void hashes_release(void *data)
{
	free(((struct cubin_hashes *)data)->list);
}

/* Return true if the module is already in the report, from another process of the tree. Otherwise,
 * record its hash, because the caller writes it. */
static bool is_written(struct writer *w, uint64_t hash)
{
	struct cubin_hashes *h = slot_get(&w->slots[SLOT_CUBIN_HASHES], sizeof(*h), hashes_release);
	for (uint32_t i = 0; h && i < h->count; i++)
		if (h->list[i] == hash)
			return true;
	if (h && !array_room(&h->list, h->count, &h->capacity, sizeof(*h->list)))
		h->list[h->count++] = hash;
	return false;
}

static void entry_put(struct writer *w, const struct cubin *c, const Elf64_Ehdr *elf,
	Ncu__RelocationSymbolEntry *functions, uint32_t count)
{
	Ncu__SourceData source = NCU__SOURCE_DATA__INIT;
	Ncu__RelocationData relocation = NCU__RELOCATION_DATA__INIT;
	Ncu__RelocationSymbolEntry **list =
		calloc(count + 1u, sizeof(Ncu__RelocationSymbolEntry *));
	uint32_t architecture = architecture_of(elf);
	source.has_reference = source.has_binary = 1;
	source.reference = reference_of(c->hash);
	source.binary = (ProtobufCBinaryData){c->code.bytes, c->code.data};
	source.has_sass_level = source.has_sm_revision = source.has_binary_flags = 1;
	source.sass_level = (Ncu__SourceSassLevel)(architecture / 10);
	source.sm_revision = (architecture / 10) << 16 | architecture % 10;
	for (uint32_t i = 0; list && i < count; i++)
		list[i] = &functions[i];
	relocation.functions = list;
	relocation.n_functions = list ? count : 0;
	source.relocation_data = &relocation;
	block_put_source(&w->report.block, &source);
	free(list);
}

static void cubin_end(struct writer *w, struct cubin *c)
{
	Elf64_Ehdr elf;
	Ncu__RelocationSymbolEntry *functions = NULL;
	const void *head = part(c, 0, sizeof(elf));
	if (head)
		memcpy(&elf, head, sizeof(elf));
	if (head && !memcmp(elf.e_ident, ELFMAG, SELFMAG) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
		elf.e_machine == ELF_MACHINE_CUDA) {
		uint32_t count = functions_read(c, &elf, &functions);
		if (!is_written(w, c->hash))
			entry_put(w, c, &elf, functions, count);
		free(functions);
		c->is_whole = true;
	}
	free(c->code.data);
	c->code.data = NULL;
}

/* ---- records ---- */

static struct cubin *cubin_get(struct cubins *c, uint64_t hash)
{
	for (uint32_t i = c->count; i-- > 0;)
		if (c->rows[i].hash == hash)
			return &c->rows[i];
	if (c->count == CUBINS_MAX)
		return NULL;
	if (array_room(&c->rows, c->count, &c->capacity, sizeof(*c->rows)))
		return NULL;
	c->rows[c->count] = (struct cubin){.hash = hash};
	return &c->rows[c->count++];
}

/* Add bytes to the code. Return false if there is no room. */
static bool bytes_add(struct cubin *c, const uint8_t *data, uint32_t bytes)
{
	return c->code.bytes + bytes <= CUBIN_BYTES_MAX && !buffer_add(&c->code, data, bytes);
}

/* Free the pieces, because the missing pieces will not be sent. */
static void cubin_give_up(struct cubin *c)
{
	free(c->code.data);
	c->code = (struct buffer){0};
}

/* Add the next piece. Two threads may send the same content: bytes that were already received are
 * skipped. */
static void piece_add(
	struct cubin *c, const struct cuda_cubin *head, const uint8_t *data, uint32_t bytes)
{
	if (!head->offset && !c->code.bytes)
		c->total_bytes = head->total_bytes;
	if (head->total_bytes != c->total_bytes || head->offset < c->code.bytes)
		return;
	if (head->offset > c->code.bytes || c->code.bytes + bytes > c->total_bytes ||
		!bytes_add(c, data, bytes))
		cubin_give_up(c);
}

uint32_t cubin_piece_put(struct segment *s, const struct record_at *at)
{
	struct cuda_cubin head;
	struct cubins *all = cubins_of(s->spool);
	s->overhead++;
	if (!all || at->bytes <= sizeof(head))
		return at->slots;
	memcpy(&head, at->payload, sizeof(head));
	struct cubin *c = cubin_get(all, at->r->a);
	all->refused += !c;
	if (!c || c->is_whole)
		return at->slots;
	c->lane = s->view;
	piece_add(c, &head, at->payload + sizeof(head), at->bytes - (uint32_t)sizeof(head));
	if (c->code.bytes && c->code.bytes == c->total_bytes)
		cubin_end(s->w, c);
	return at->slots;
}

/* Give up the modules whose code is not complete: a thread reports a module after its code, and
 * does not send missing pieces again. */
static void sent_end(struct cubins *all, uint64_t hash, const struct lane_view *lane)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (all->rows[i].hash == hash && all->rows[i].lane == lane &&
			!all->rows[i].is_whole)
			cubin_give_up(&all->rows[i]);
}

void cubins_note_module(struct segment *s, const uint64_t *values)
{
	uint64_t hash = values[COLUMN_CUDA_MODULE_CUBIN_HASH];
	struct cubins *c = cubins_of(s->spool);
	if (!c || !hash || values[COLUMN_CUDA_MODULE_IS_UNLOAD])
		return;
	sent_end(c, hash, s->view);
	if (c->module_count == MODULES_MAX)
		return;
	if (array_room(&c->modules, c->module_count, &c->module_capacity, sizeof(*c->modules)))
		return;
	c->modules[c->module_count++] =
		(struct context_module){hash, (uint32_t)values[COLUMN_CUDA_MODULE_CONTEXT_ID]};
}

static bool has_function(const struct cubins *c, uint64_t hash, const char *mangled)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->rows[i].hash == hash)
			return c->rows[i].is_whole && c->rows[i].function_count &&
				bsearch(&mangled, c->rows[i].function, c->rows[i].function_count,
					sizeof(*c->rows[i].function), by_text);
	return false;
}

uint64_t cubins_reference(const struct spool *spool, uint32_t context, const char *mangled)
{
	const struct cubins *c = spool->slots[SLOT_CUBINS].data;
	for (uint32_t i = c ? c->module_count : 0; i-- > 0;)
		if (c->modules[i].context == context &&
			has_function(c, c->modules[i].hash, mangled))
			return reference_of(c->modules[i].hash);
	return 0;
}

uint32_t cubins_unwritten(const struct writer *w)
{
	uint32_t count = w->report.block.num_sources;
	for (uint32_t i = 0; i < w->spools.count; i++) {
		const struct cubins *c = w->spools.all[i]->slots[SLOT_CUBINS].data;
		for (uint32_t n = 0; c && n < c->count; n++)
			count += c->rows[n].code.data != NULL;
	}
	return count;
}

int cubins_finish(struct writer *w, struct spool *spool)
{
	struct cubins *c = spool->slots[SLOT_CUBINS].data;
	uint32_t missing = c && !c->is_reported ? c->refused : 0;
	for (uint32_t i = 0; c && !c->is_reported && i < c->count; i++)
		missing += !c->rows[i].is_whole;
	if (c)
		c->is_reported = true;
	if (missing)
		writer_note(w, spool->pid, w->clock.now.mono_ns,
			"CUDA: the code of %u modules is not in the report: it was incomplete or "
			"not a cubin",
			missing);
	return 0;
}
