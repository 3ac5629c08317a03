/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - function names from the symbol table of a program or library. */
#ifdef HAVE_LIBDW

#define _GNU_SOURCE
#include "reader/symbols/binary.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "reader/base/address_ranges.h"
#include "reader/base/companion.h"
#include "reader/symbols/binary_search.h"
#include "reader/symbols/demangle.h"
#include "reader/symbols/dwarf.h"

/* A symbol without size extends to the next symbol, but at most this far. */
#define SIZELESS_BYTES_MAX 65536u
#define SYMBOLS_MAX (1u << 26)

struct elf_symbol {
	uint64_t address, bytes;
	const char *name;     /* address in the memory of the file */
	const char *readable; /* demangled; NULL = not yet demangled */
	uint8_t rank; /* if several names have one address, the name of the lowest rank is shown */
};

struct binary {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct pool *pool;
	char debug_path[PATH_MAX]; /* found in the symbol path; else empty */
	struct elf_symbol *symbols;
	uint32_t symbol_count;
	struct ranges ranges; /* ranges whose value is an index in `symbols` */
	struct ranges data;   /* of variables: the value is an index in the file's symbol table */
	bool data_looked_for;
	struct dwarf *dwarf;
	Dwarf_Addr dwarf_bias;
	bool dwarf_looked_for;
};

/* Ask libtrace-host for a file by build-id. libdebuginfod, which `trace` cannot load because it is
 * linked statically, fetches and caches the file. `what` is "debuginfo" or "executable". Returns a
 * descriptor and its path, which the caller frees; -1 if DEBUGINFOD_URLS is not set or there is no
 * such file. */
static int debuginfod_open(const char *what, const uint8_t *bits, size_t bytes, char **ret_path)
{
	static const char hex[] = "0123456789abcdef";
	char digits[2 * BUILD_ID_BITS_MAX + 1] = "", path[PATH_MAX];
	const char *const arguments[] = {what, digits, NULL};
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !*urls || bytes > BUILD_ID_BITS_MAX)
		return -1;
	for (size_t i = 0; i < bytes; i++) {
		digits[2 * i] = hex[bits[i] >> 4];
		digits[2 * i + 1] = hex[bits[i] & 15];
	}
	if (!companion_ask(arguments, -1, path, sizeof(path)))
		return -1;
	path[strcspn(path, "\n")] = 0;
	int fd = regular_open(path);
	*ret_path = fd < 0 ? NULL : strdup(path);
	return fd;
}

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret_path)
{
	const struct binary *b = *user;
	int fd = b && *b->debug_path ? regular_open(b->debug_path) : -1;
	if (fd < 0) {
		fd = dwfl_standard_find_debuginfo(
			module, user, name, base, file, link, crc, ret_path);
		const unsigned char *bits;
		GElf_Addr address;
		int bytes = fd < 0 ? dwfl_module_build_id(module, &bits, &address) : 0;
		return bytes > 0 ? debuginfod_open("debuginfo", bits, (size_t)bytes, ret_path) : fd;
	}
	*ret_path = strdup(b->debug_path);
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Search /usr/lib/debug and debuginfod for the file itself. Returns a descriptor or -1. */
static int find_by_build_id(const char *build_id)
{
	uint8_t bits[BUILD_ID_BITS_MAX];
	size_t bytes = build_id_bits(build_id, bits);
	char *path = NULL;
	Elf *elf = NULL;
	int fd = -1;
	Dwfl *dwfl = bytes ? dwfl_begin(&callbacks) : NULL;
	if (!dwfl)
		return -1;
	dwfl_report_begin(dwfl);
	Dwfl_Module *module = dwfl_report_module(dwfl, "module", 0x1000, 0x2000);
	if (module && !dwfl_module_report_build_id(module, bits, bytes, 0))
		fd = dwfl_build_id_find_elf(module, NULL, "module", 0x1000, &path, &elf);
	dwfl_report_end(dwfl, NULL, NULL);
	if (elf)
		elf_end(elf);
	free(path);
	dwfl_end(dwfl);
	if (fd < 0) {
		path = NULL;
		fd = debuginfod_open("executable", bits, bytes, &path);
		free(path);
	}
	return fd;
}

/* Add the open file to libdwfl, which takes over `fd`. */
static int module_open(struct binary *b, const char *path, int fd)
{
	void **user = NULL;
	b->dwfl = dwfl_begin(&callbacks);
	if (!b->dwfl) {
		close(fd);
		return -ENOMEM;
	}
	dwfl_report_begin(b->dwfl);
	b->module = dwfl_report_elf(b->dwfl, path, path, fd, 0, true);
	dwfl_report_end(b->dwfl, NULL, NULL);
	if (!b->module) {
		close(fd);
		return -EBADMSG;
	}
	dwfl_module_info(b->module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = b;
	return 0;
}

static bool is_code(Elf *elf, GElf_Word section)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf && section < SHN_LORESERVE ? elf_getscn(elf, section) : NULL;
	return scn && gelf_getshdr(scn, &header) && header.sh_flags & SHF_EXECINSTR;
}

static uint8_t rank_of(const char *name, const GElf_Sym *symbol)
{
	uint8_t underscores = 0;
	while (underscores < 3 && name[underscores] == '_')
		underscores++;
	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0; /* not a mangled name */
	uint8_t local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	return (uint8_t)(16 * !symbol->st_size + 4 * local + underscores);
}

static void symbol_take(struct binary *b, int index)
{
	GElf_Sym symbol;
	GElf_Addr address;
	GElf_Word section;
	Elf *elf;
	Dwarf_Addr bias;
	const char *name =
		dwfl_module_getsym_info(b->module, index, &symbol, &address, &section, &elf, &bias);
	unsigned type = GELF_ST_TYPE(symbol.st_info);
	if (!name || !*name || section == SHN_UNDEF)
		return;
	if (type != STT_FUNC && type != STT_GNU_IFUNC &&
		!(type == STT_NOTYPE && *name != '$' && *name != '.' && is_code(elf, section)))
		return;
	b->symbols[b->symbol_count++] =
		(struct elf_symbol){address, symbol.st_size, name, NULL, rank_of(name, &symbol)};
}

static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	size_t length_x = strlen(x->name), length_y = strlen(y->name);
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Create one range per address, for the first of its names. */
static int symbol_ranges(struct binary *b)
{
	int error = 0;
	for (uint32_t i = 0, next; !error && i < b->symbol_count; i = next) {
		const struct elf_symbol *s = &b->symbols[i];
		for (next = i + 1; next < b->symbol_count; next++)
			if (b->symbols[next].address != s->address)
				break;
		uint64_t bytes = s->bytes ? s->bytes : SIZELESS_BYTES_MAX;
		if (!s->bytes && next < b->symbol_count &&
			b->symbols[next].address - s->address < bytes)
			bytes = b->symbols[next].address - s->address;
		if (bytes <= UINT64_MAX - s->address)
			error = ranges_add(&b->ranges, s->address, s->address + bytes, i);
	}
	ranges_sort(&b->ranges);
	return error;
}

/* Read the symbol table. dwfl_module_addrinfo() examines all symbols for each address, which takes
 * 690 us for a library with 35,000 symbols; a search of the sorted table takes 0.1 us. */
static int symbols_read(struct binary *b)
{
	int count = dwfl_module_getsymtab(b->module);
	if (count <= 0 || (unsigned)count > SYMBOLS_MAX)
		return 0;
	b->symbols = malloc((size_t)count * sizeof(*b->symbols));
	if (!b->symbols)
		return -ENOMEM;
	for (int i = 0; i < count; i++)
		symbol_take(b, i);
	qsort(b->symbols, b->symbol_count, sizeof(*b->symbols), compare_symbols);
	return symbol_ranges(b);
}

struct binary *binary_open(const char *path, const char *build_id, const char *symbol_path,
	struct pool *pool, const char **ret_reason)
{
	char reason[PATH_MAX + 64] = "";
	struct binary *b = calloc(1, sizeof(*b));
	*ret_reason = NULL;
	if (!b)
		return NULL;
	b->pool = pool;
	elf_version(EV_CURRENT);
	int fd = binary_search(path, build_id, symbol_path, b->debug_path, reason, sizeof(reason));
	if (fd < 0)
		fd = find_by_build_id(build_id);
	if (fd < 0 && *b->debug_path)
		fd = regular_open(b->debug_path);
	int error = fd < 0 ? -ENOENT : module_open(b, path, fd);
	if (!error)
		error = symbols_read(b);
	if (!error)
		return b;
	binary_close(b);
	if (error == -EBADMSG)
		snprintf(reason, sizeof(reason), "'%s' is not a readable ELF file", path);
	if (error != -ENOMEM)
		*ret_reason = pool_text(pool, reason, sizeof(reason));
	return NULL;
}

void binary_close(struct binary *b)
{
	if (!b)
		return;
	dwarf_free(b->dwarf);
	if (b->dwfl)
		dwfl_end(b->dwfl);
	ranges_release(&b->ranges);
	ranges_release(&b->data);
	free(b->symbols);
	free(b);
}

/* Return the DWARF of the file. It is opened on first use, because that takes most of the time. */
static struct dwarf *dwarf_of(struct binary *b)
{
	if (b->dwarf_looked_for)
		return b->dwarf;
	b->dwarf_looked_for = true;
	Dwarf *dw = dwfl_module_getdwarf(b->module, &b->dwarf_bias);
	size_t bytes = 0;
	Elf *elf = dw ? dwarf_getelf(dw) : NULL;
	if (elf)
		elf_rawfile(elf, &bytes);
	/* compressed sections may contain more entries than the file has bytes */
	b->dwarf = dw ? dwarf_new(dw, (uint64_t)bytes * 4, b->pool) : NULL;
	return b->dwarf;
}

/* Return the length of a symbol's name without its version ("@@GLIBC_2.2") and without the suffix
 * that compilers add to parts and clones of a function (".cold", ".isra.0"). */
static size_t plain_length(const char *name)
{
	static const char *const clones[] = {
		"cold", "part", "isra", "constprop", "lto_priv", "localalias", "llvm", "clone"};
	size_t length = strcspn(name, "@");
	for (size_t at = 1; at < length; at++) {
		if (name[at] != '.')
			continue;
		size_t word = strcspn(name + at + 1, ".@");
		for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++)
			if (strlen(clones[i]) == word && !memcmp(name + at + 1, clones[i], word))
				return at;
	}
	return length ? length : strlen(name);
}

static const char *readable_name(struct binary *b, struct elf_symbol *s)
{
	char text[DEMANGLED_BYTES_MAX];
	if (s->readable)
		return s->readable;
	const char *plain = pool_text(b->pool, s->name, plain_length(s->name));
	s->readable =
		plain && demangle(plain, text) ? pool_text(b->pool, text, sizeof(text)) : plain;
	return s->readable;
}

uint32_t binary_frames(struct binary *b, uint64_t address, struct symbol_frame *ret_frames,
	uint64_t *ret_offset, const char **ret_reason)
{
	uint64_t begin = UINT64_MAX;
	const struct range *r = ranges_find(&b->ranges, address, NULL);
	struct elf_symbol *s = r ? &b->symbols[r->value] : NULL;
	struct dwarf *d = dwarf_of(b);
	uint32_t count = d ? dwarf_frames(d, address - b->dwarf_bias, ret_frames, &begin) : 0;
	*ret_reason = s || count  ? NULL
		: b->symbol_count ? "not in any function of the file's symbol table"
				  : "the file has no symbols, and no debug file was found";
	if (!count && s)
		ret_frames[count++] = (struct symbol_frame){0};
	if (s) {
		ret_frames[count - 1].function = readable_name(b, s);
		begin = s->address;
	} else if (begin != UINT64_MAX) {
		begin += b->dwarf_bias;
	}
	for (uint32_t i = 0; d && i < count; i++) {
		const char *name = ret_frames[i].function;
		const char *whole = name && is_outlined(name)
			? dwarf_outlined(d, address - b->dwarf_bias, name)
			: NULL;
		ret_frames[i].function = whole ? whole : name;
	}
	*ret_offset = begin <= address ? address - begin : begin == UINT64_MAX ? UINT64_MAX : 0;
	return count;
}

/* Return the name of a symbol; NULL if it is not that of a variable. */
static const char *variable_at(
	struct binary *b, int index, GElf_Addr *ret_address, GElf_Sym *ret_symbol)
{
	GElf_Word section;
	const char *name = dwfl_module_getsym_info(
		b->module, index, ret_symbol, ret_address, &section, NULL, NULL);
	const bool is_variable = name && *name && section != SHN_UNDEF &&
		GELF_ST_TYPE(ret_symbol->st_info) == STT_OBJECT && ret_symbol->st_size &&
		ret_symbol->st_size <= UINT64_MAX - *ret_address;
	return is_variable ? name : NULL;
}

/* Read the variables of the symbol table. They are asked for rarely. */
static int variables_read(struct binary *b)
{
	const int count = dwfl_module_getsymtab(b->module);
	int error = 0;
	b->data_looked_for = true;
	for (int i = 0; !error && i < count && (unsigned)count <= SYMBOLS_MAX; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		if (variable_at(b, i, &address, &symbol))
			error = ranges_add(
				&b->data, address, address + symbol.st_size, (uint32_t)i);
	}
	ranges_sort(&b->data);
	return error;
}

const char *binary_variable(struct binary *b, uint64_t address, uint64_t *ret_offset)
{
	char text[DEMANGLED_BYTES_MAX];
	GElf_Sym symbol;
	GElf_Addr begin;
	if (!b->data_looked_for && variables_read(b))
		return NULL;
	const struct range *r = ranges_find(&b->data, address, NULL);
	const char *name = r ? variable_at(b, (int)r->value, &begin, &symbol) : NULL;
	const char *plain = name ? pool_text(b->pool, name, plain_length(name)) : NULL;
	if (!plain)
		return NULL;
	*ret_offset = address - begin;
	return demangle(plain, text) ? pool_text(b->pool, text, sizeof(text)) : plain;
}

#else

#include "reader/symbols/binary.h"

#include <stddef.h>

struct binary *binary_open(const char *path, const char *build_id, const char *symbol_path,
	struct pool *pool, const char **ret_reason)
{
	(void)path;
	(void)build_id;
	(void)symbol_path;
	(void)pool;
	*ret_reason = "built without libdw";
	return NULL;
}

void binary_close(struct binary *b)
{
	(void)b;
}

uint32_t binary_frames(struct binary *b, uint64_t address, struct symbol_frame *ret_frames,
	uint64_t *ret_offset, const char **ret_reason)
{
	(void)b;
	(void)address;
	(void)ret_frames;
	(void)ret_offset;
	*ret_reason = NULL;
	return 0;
}

const char *binary_variable(struct binary *b, uint64_t address, uint64_t *ret_offset)
{
	(void)b;
	(void)address;
	(void)ret_offset;
	return NULL;
}

#endif
