/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf.c - source lines and inlined functions of a module, by libdw. */
#ifdef HAVE_LIBDW

#define _GNU_SOURCE
#include "reader/symbols/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "reader/base/address_ranges.h"
#include "reader/symbols/demangle.h"

#define DEPTH_MAX 32u /* levels of namespaces and classes around a function */

struct function {
	Dwarf_Off die;
	uint64_t begin;
	Dwarf_Off outer; /* definition that encloses an outlined construct of OpenMP; 0 = unknown */
	bool searched;   /* whether `outer` is set */
};

struct unit {
	Dwarf_Die die;  /* unit that has the lines */
	Dwarf_Die tree; /* unit that has the functions; in another file if the DWARF is split */
	bool indexed;
	struct ranges ranges; /* ranges whose value is an index in `functions` */
	struct function *functions;
	uint32_t count, capacity;
};

struct dwarf {
	Dwarf *dw;
	struct pool *pool;
	uint64_t die_budget, dies_left;
	struct ranges ranges; /* ranges whose value is an index in `units` */
	struct unit *units;
	uint32_t count, capacity;
};

/* Add each address range of a DIE, with `value`. */
static int ranges_of(struct ranges *r, Dwarf_Die *die, uint32_t value)
{
	Dwarf_Addr base, low, high;
	int error = 0;
	for (ptrdiff_t at = 0; !error && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
		if (low) /* the linker assigns address 0 to sections that it discarded */
			error = ranges_add(r, low, high, value);
	return error;
}

static int unit_add(struct dwarf *d, const Dwarf_Die *die, const Dwarf_Die *tree)
{
	if (array_room(&d->units, d->count, &d->capacity, sizeof(*d->units)))
		return -ENOMEM;
	struct unit *u = &d->units[d->count++];
	*u = (struct unit){.die = *die, .tree = *tree};
	return ranges_of(&d->ranges, &u->die, d->count - 1);
}

static int units_find(struct dwarf *d)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	int error = 0;
	while (!error && !dwarf_get_units(d->dw, unit, &unit, NULL, &type, &die, &split)) {
		if (type == DW_UT_skeleton && split.addr)
			error = unit_add(d, &die, &split);
		else if (type == DW_UT_compile || type == DW_UT_skeleton)
			error = unit_add(d, &die, &die);
	}
	ranges_sort(&d->ranges);
	return error;
}

struct dwarf *dwarf_new(Dwarf *dw, uint64_t die_budget, struct pool *pool)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct dwarf){.dw = dw, .pool = pool, .die_budget = die_budget};
	if (!units_find(d))
		return d;
	dwarf_free(d);
	return NULL;
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->count; i++) {
		ranges_release(&d->units[i].ranges);
		free(d->units[i].functions);
	}
	ranges_release(&d->ranges);
	free(d->units);
	free(d);
}

static int function_add(struct unit *u, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	/* A function with a separate cold part has only ranges; a declaration has neither. */
	if (dwarf_entrypc(die, &begin) && dwarf_ranges(die, 0, &base, &begin, &end) <= 0)
		return 0;
	if (array_room(&u->functions, u->count, &u->capacity, sizeof(*u->functions)))
		return -ENOMEM;
	u->functions[u->count++] = (struct function){.die = dwarf_dieoffset(die), .begin = begin};
	return ranges_of(&u->ranges, die, u->count - 1);
}

/* Advance to the first child or the next sibling. The budget ends the traversal of a hostile file
 * whose entries form a cycle. */
static bool step(struct dwarf *d, Dwarf_Die *die, bool down)
{
	if (!d->dies_left)
		return false;
	d->dies_left--;
	return down ? !dwarf_child(die, die) : !dwarf_siblingof(die, die);
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
		tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
		tag == DW_TAG_enumeration_type || tag == DW_TAG_module ||
		tag == DW_TAG_interface_type;
}

typedef int function_visitor(void *user, struct unit *u, Dwarf_Die *die);

/* Visit the functions of a unit, without recursion: an array holds the ancestors of the current
 * DIE. */
static int functions_visit(struct dwarf *d, struct unit *u, function_visitor *visit, void *user)
{
	Dwarf_Die above[DEPTH_MAX];
	uint32_t depth = 0;
	int error = 0;
	above[0] = u->tree;
	d->dies_left = d->die_budget;
	for (bool more = step(d, &above[0], true); more && !error;) {
		Dwarf_Die *die = &above[depth];
		int tag = dwarf_tag(die);
		if (tag == DW_TAG_subprogram)
			error = visit(user, u, die);
		if (holds_functions(tag) && depth + 1 < DEPTH_MAX) {
			above[depth + 1] = *die;
			if (step(d, &above[depth + 1], true)) {
				depth++;
				continue;
			}
		}
		while (!(more = step(d, &above[depth], false)) && depth)
			depth--;
	}
	return error;
}

static int index_visit(void *user, struct unit *u, Dwarf_Die *die)
{
	(void)user;
	return function_add(u, die);
}

static int functions_index(struct dwarf *d, struct unit *u)
{
	const int error = functions_visit(d, u, index_visit, NULL);
	ranges_sort(&u->ranges);
	u->indexed = true;
	return error;
}

static struct unit *unit_at(struct dwarf *d, uint64_t address)
{
	const struct range *r = ranges_find(&d->ranges, address, NULL);
	struct unit *u = r ? &d->units[r->value] : NULL;
	if (u && !u->indexed && functions_index(d, u))
		return NULL;
	return u;
}

static const char *linkage_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute)
		? dwarf_formstring(&attribute)
		: NULL;
}

static const char *name_of(struct dwarf *d, Dwarf_Die *die)
{
	char readable[DEMANGLED_BYTES_MAX];
	const char *linkage = linkage_of(die);
	size_t bytes = linkage ? demangle(linkage, readable) : 0;
	const char *name = bytes ? readable : dwarf_diename(die);
	if (!name)
		name = linkage;
	return name && *name ? pool_text(d->pool, name, DEMANGLED_BYTES_MAX) : NULL;
}

static const char *file_text(struct dwarf *d, const char *file)
{
	return file && *file ? pool_text(d->pool, file, DEMANGLED_BYTES_MAX) : NULL;
}

static void line_of(struct dwarf *d, struct unit *u, uint64_t address, struct symbol_frame *f)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
	int number = 0;
	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	f->file = file_text(d, dwarf_linesrc(line, NULL, NULL));
	f->line = (uint32_t)number;
}

/* Set the call site of an inlined function, which is the source line of its caller's frame. */
static void call_of(struct dwarf *d, struct unit *u, Dwarf_Die *inlined, struct symbol_frame *f)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	if (dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
		!dwarf_formudata(&attribute, &number) && !dwarf_getsrcfiles(&u->tree, &files, NULL))
		f->file = file_text(d, dwarf_filesrc(files, number, NULL, NULL));
	if (dwarf_attr(inlined, DW_AT_call_line, &attribute) &&
		!dwarf_formudata(&attribute, &number))
		f->line = (uint32_t)number;
}

/* Find the inlined functions around `address` within `die`, outermost first. Returns their
 * number. */
static uint32_t inlined_find(
	struct dwarf *d, Dwarf_Die die, uint64_t address, Dwarf_Die *ret_inlined)
{
	uint32_t count = 0, depth = 0;
	d->dies_left = d->die_budget;
	while (count < INLINED_MAX && depth++ < 1000 && step(d, &die, true)) {
		bool found = false;
		do {
			int tag = dwarf_tag(&die);
			found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
					tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
				dwarf_haspc(&die, address) == 1;
		} while (!found && step(d, &die, false));
		if (!found)
			break;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			ret_inlined[count++] = die;
	}
	return count;
}

/* ---- outlined constructs of OpenMP ---- */

struct enclosing {
	Dwarf_Word file;
	int line; /* of the construct */
	int best; /* line of the definition that was found; 0 = none */
	Dwarf_Off die;
};

static bool position_of(Dwarf_Die *die, Dwarf_Word *ret_file, int *ret_line)
{
	Dwarf_Attribute attribute;
	return dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) &&
		!dwarf_formudata(&attribute, ret_file) && !dwarf_decl_line(die, ret_line);
}

static int enclosing_visit(void *user, struct unit *u, Dwarf_Die *die)
{
	struct enclosing *e = user;
	const char *name = dwarf_diename(die);
	Dwarf_Word file;
	int line;
	(void)u;
	if (name && !is_outlined(name) && !dwarf_hasattr(die, DW_AT_declaration) &&
		position_of(die, &file, &line) && file == e->file && line <= e->line &&
		line > e->best) {
		e->best = line;
		e->die = dwarf_dieoffset(die);
	}
	return 0;
}

/* Find the function in whose body the construct is: of those defined in its file, the last one
 * that begins at or before its line. */
static void enclosing_find(struct dwarf *d, struct unit *u, struct function *f)
{
	struct enclosing e = {0};
	Dwarf_Die die;
	f->searched = true;
	if (dwarf_offdie(dwarf_cu_getdwarf(u->tree.cu), f->die, &die) &&
		position_of(&die, &e.file, &e.line))
		functions_visit(d, u, enclosing_visit, &e);
	f->outer = e.die;
}

bool is_outlined(const char *name)
{
	return !strncmp(name, ".omp_", 5);
}

const char *dwarf_outlined(struct dwarf *d, uint64_t address, const char *name)
{
	struct unit *u = unit_at(d, address);
	const struct range *r = u ? ranges_find(&u->ranges, address, NULL) : NULL;
	struct function *f = r ? &u->functions[r->value] : NULL;
	char joined[DEMANGLED_BYTES_MAX], readable[DEMANGLED_BYTES_MAX];
	Dwarf_Die die;
	if (f && !f->searched)
		enclosing_find(d, u, f);
	if (!f || !f->outer || !dwarf_offdie(dwarf_cu_getdwarf(u->tree.cu), f->outer, &die))
		return NULL;
	/* ".omp_outlined..2" is written ".omp_outlined.2", as newer versions of clang do. */
	const size_t word = strcspn(name + 1, ".") + 1;
	const char *linkage = linkage_of(&die), *rest = name + word + (name[word] == '.');
	const int length = snprintf(joined, sizeof(joined), "%s%.*s%s",
		linkage ? linkage : dwarf_diename(&die), (int)word, name, rest);
	if (length < 0 || (size_t)length >= sizeof(joined))
		return NULL;
	return pool_text(
		d->pool, demangle(joined, readable) ? readable : joined, DEMANGLED_BYTES_MAX);
}

uint32_t dwarf_frames(
	struct dwarf *d, uint64_t address, struct symbol_frame *ret_frames, uint64_t *ret_begin)
{
	Dwarf_Die die, inlined[INLINED_MAX];
	struct unit *u = unit_at(d, address);
	if (!u)
		return 0;
	const struct range *r = ranges_find(&u->ranges, address, NULL);
	const struct function *function = r ? &u->functions[r->value] : NULL;
	bool known = function && dwarf_offdie(dwarf_cu_getdwarf(u->tree.cu), function->die, &die);
	uint32_t count = known ? inlined_find(d, die, address, inlined) : 0;
	memset(ret_frames, 0, (count + 1) * sizeof(*ret_frames));
	line_of(d, u, address, &ret_frames[0]);
	for (uint32_t i = 0; i < count; i++) {
		Dwarf_Die *inner = &inlined[count - 1 - i];
		ret_frames[i].function = name_of(d, inner);
		call_of(d, u, inner, &ret_frames[i + 1]);
	}
	ret_frames[count].function = known ? name_of(d, &die) : NULL;
	*ret_begin = known ? function->begin : UINT64_MAX;
	return count || known || ret_frames[0].line ? count + 1 : 0;
}

#endif
