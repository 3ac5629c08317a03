/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - the tick counter and the clocks of the system, without libc.
 */
#define _GNU_SOURCE
#include "common/clock.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <time.h>

#include "common/sys.h"
#include "common/text.h"
#include "machine/machine.h"

uint32_t clock_is_tsc;

/* ---- the vdso ---- */

typedef int clock_function(int clock_id, struct timespec *ret_time);

static clock_function *vdso_clock; /* NULL = none, or not looked for yet */

/* The tables of an image's dynamic section. Its addresses are offsets, to which `bias` is added. */
struct image {
	uintptr_t bias;
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash, *gnu_hash;
};

static void image_read(const Elf64_Ehdr *header, struct image *ret_image)
{
	uintptr_t base = (uintptr_t)header;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(base + header->e_phoff);
	const Elf64_Dyn *d = NULL;
	*ret_image = (struct image){0};
	for (int i = 0; i < header->e_phnum; i++) {
		if (p[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(base + p[i].p_offset);
		if (p[i].p_type == PT_LOAD && !ret_image->bias)
			ret_image->bias = base + p[i].p_offset - p[i].p_vaddr;
	}
	for (; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = ret_image->bias + d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			ret_image->symbols = (const Elf64_Sym *)at;
		else if (d->d_tag == DT_STRTAB)
			ret_image->names = (const char *)at;
		else if (d->d_tag == DT_HASH)
			ret_image->hash = (const uint32_t *)at;
		else if (d->d_tag == DT_GNU_HASH)
			ret_image->gnu_hash = (const uint32_t *)at;
	}
}

/* Return the number of the image's symbols. The vdso of later kernels has only a DT_GNU_HASH
 * table. */
static uint32_t image_symbols(const struct image *image)
{
	if (image->hash)
		return image->hash[1];
	if (!image->gnu_hash)
		return 0;
	uint32_t buckets = image->gnu_hash[0], first = image->gnu_hash[1], last = 0;
	const uint32_t *bucket = image->gnu_hash + 4 + (size_t)image->gnu_hash[2] * 2,
		       *chain = bucket + buckets;
	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	while (last >= first && last && !(chain[last - first] & 1))
		last++;
	return last ? last + 1 : 0;
}

/* Find the kernel's function in the vdso. Takes a few microseconds. */
static void vdso_find(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct image image;
	if (vdso_clock || !header)
		return;
	image_read(header, &image);
	if (!image.symbols || !image.names)
		return;
	for (uint32_t i = 0, count = image_symbols(&image); i < count; i++) {
		const Elf64_Sym *s = &image.symbols[i];
		if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
			!text_equal(image.names + s->st_name, MACHINE_VDSO_CLOCK))
			continue;
		__atomic_store_n(&vdso_clock, (clock_function *)(image.bias + s->st_value),
			__ATOMIC_RELAXED);
		return;
	}
}

uint64_t clock_system_ns(int clock_id)
{
	struct timespec time;
	clock_function *function = __atomic_load_n(&vdso_clock, __ATOMIC_RELAXED);
	if (!function || sys_override || function(clock_id, &time))
		return sys_clock_ns(clock_id);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_system_ns(CLOCK_MONOTONIC);
}

/* ---- the counter ---- */

/* Return whether the kernel itself uses the counter. */
static bool kernel_trusts_counter(void)
{
	char name[32];
	long length =
		sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			name, sizeof(name));
	if (length < 0)
		return machine_counter_is_steady();
	return text_equal(name, MACHINE_CLOCKSOURCE) || text_equal(name, MACHINE_CLOCKSOURCE "\n");
}

enum clock_kind clock_init(void)
{
	vdso_find();
	clock_is_tsc = kernel_trusts_counter();
	return clock_is_tsc ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
}

void clock_set(enum clock_kind kind)
{
	vdso_find();
	clock_is_tsc = kind == CLOCK_KIND_TSC;
}

void clock_point_take(struct clock_point *ret_point)
{
	if (!clock_is_tsc) {
		ret_point->tick = ret_point->mono_ns = clock_monotonic_ns();
		ret_point->error_ns = 0;
		return;
	}
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t before = clock_monotonic_ns();
		uint64_t tick = clock_ticks();
		uint64_t after = clock_monotonic_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		ret_point->tick = tick;
		ret_point->mono_ns = before + best / 2;
		ret_point->error_ns = (best + 1) / 2;
	}
}
