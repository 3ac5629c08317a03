/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_symbols.c - measures the cost of finding the name of an address, compared with the libdw
 * calls that return the same name.
 *
 *   bench_symbols [ADDRESSES=100000] [FILE]     (default: a file compiled by $CC, 8 units of 1,000
 *                                               functions)
 *
 * Prints the processor time for all addresses, the first opening of the file included, and that of
 * bare libdw (dwfl_module_addrinfo, dwfl_module_getsrc, dwarf_getscopes), measured on a sample of
 * the addresses.
 */
#define _GNU_SOURCE
#ifdef HAVE_LIBDW

#include <time.h>

#include "tests/unit/test_symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#define SAMPLE 2000u
#define UNITS 8
#define FUNCTIONS 1000

static double seconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool make_library(const char *cc)
{
	for (int unit = 0; unit < UNITS; unit++) {
		FILE *f = fopen(in_folder("unit%d.c", unit), "w");
		if (!f)
			return false;
		fprintf(f,
			"extern int (*volatile out)(int);\n"
			"static inline int twice(int x)\n{\n\treturn out(x) + out(x + 1);\n}\n"
			"static inline int some(int x)\n{\n\tfor (int i = 0; i < x; i++)\n"
			"\t\tif (twice(i) == x)\n\t\t\treturn i;\n\treturn 0;\n}\n");
		for (int i = 0; i < FUNCTIONS; i++)
			fprintf(f,
				"int unit%d_function%d(int x)\n{\n\tint y = some(x + %d);\n"
				"\treturn twice(y) ^ some(y);\n}\n",
				unit, i, i);
		fclose(f);
	}
	write_file(in_folder("out.c"), "int (*volatile out)(int);\n", 26);
	return shell("%s -O2 -g -fPIC -shared -Wl,--build-id -o lib.so *.c", cc);
}

static Dwfl_Module *module_open(Dwfl **ret_dwfl, const char *path)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address};
	Dwfl *dwfl = *ret_dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(dwfl);
	Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, -1, 0, true);
	dwfl_report_end(dwfl, NULL, NULL);
	return module;
}

static void build_id_text(Dwfl_Module *module, char *out)
{
	const unsigned char *bits;
	GElf_Addr address;
	Dwarf_Addr bias;
	dwfl_module_getelf(module, &bias);
	int bytes = dwfl_module_build_id(module, &bits, &address);
	*out = 0;
	for (int i = 0; i < bytes && i < 32; i++)
		sprintf(out + 2 * i, "%02x", bits[i]);
}

static void code_range(Dwfl_Module *module, uint64_t *ret_begin, uint64_t *ret_end)
{
	Dwarf_Addr bias;
	GElf_Phdr header;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
			header.p_flags & PF_X) {
			*ret_begin = header.p_vaddr;
			*ret_end = header.p_vaddr + header.p_memsz;
		}
}

/* Look up an address by libdw alone. Return the number of frames. */
static unsigned bare(Dwfl_Module *module, uint64_t address)
{
	GElf_Off offset;
	GElf_Sym symbol;
	Dwarf_Addr bias;
	Dwarf_Die *scopes = NULL, *chain = NULL;
	int line = 0;
	unsigned frames = 0;
	dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	Dwfl_Line *at = dwfl_module_getsrc(module, address);
	if (at)
		dwfl_lineinfo(at, NULL, &line, NULL, NULL, NULL);
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
	int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	count = count > 0 ? dwarf_getscopes_die(&scopes[0], &chain) : 0;
	for (int i = 0; i < count; i++)
		if (dwarf_tag(&chain[i]) == DW_TAG_inlined_subroutine ||
			dwarf_tag(&chain[i]) == DW_TAG_subprogram)
			frames += dwarf_diename(&chain[i]) != NULL;
	free(scopes);
	free(chain);
	return frames;
}

static void measure(const char *path, uint64_t addresses)
{
	struct library l = {.begin = 0, .end = UINT64_MAX};
	struct session s;
	uint64_t begin = 0, end = 0, frames = 0, known = 0, bare_frames = 0;
	Dwfl *dwfl;
	Dwfl_Module *module = module_open(&dwfl, path);
	build_id_text(module, l.build_id);
	code_range(module, &begin, &end);
	session_start(&s, &l, path, l.build_id, NULL);
	double step = (double)(end - begin) / (double)addresses, start = seconds();
	for (uint64_t i = 0; i < addresses; i++) {
		const struct symbol *symbol = symbols_find(&s.symbols, s.process,
			begin + (uint64_t)((double)i * step) + 1, 1500, NULL);
		frames += symbol->frame_count;
		known += !symbol->reason;
	}
	double ours = seconds() - start;
	uint64_t sample = addresses < SAMPLE ? addresses : SAMPLE;
	bare(module, begin);
	start = seconds();
	for (uint64_t i = 0; i < sample; i++)
		bare_frames +=
			bare(module, begin + (uint64_t)((double)(i * (addresses / sample)) * step));
	double theirs = (seconds() - start) / (double)sample * (double)addresses;
	printf("symbols\t%lu\t%.3f\t%.3f\t%.1f\n", (unsigned long)addresses, ours, theirs,
		100 * (double)known / (double)addresses);
	fprintf(stderr, "%.2f frames per address, libdw %.2f\n", (double)frames / (double)addresses,
		(double)bare_frames / (double)sample);
	session_end(&s);
	dwfl_end(dwfl);
}

int main(int argc, char **argv)
{
	const char *cc = getenv("CC");
	uint64_t addresses = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	if (!mkdtemp(folder))
		return 1;
	bool made = argc > 2 || make_library(cc && *cc ? cc : "cc");
	if (made)
		measure(argc > 2 ? argv[2] : in_folder("lib.so"), addresses ? addresses : 1);
	shell("rm -rf '%s'", folder);
	return !made;
}

#else

int main(void)
{
	return 77;
}

#endif
