/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writer_cubins.c - tests of module code that arrives in pieces: complete, with gaps, twice at
 * once, more than is kept.
 *
 * Code with missing pieces is not kept; cubins_unwritten() counts it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda/cuda_spool.h"
#include "common/schema/cuda_columns.h"
#include "tests/unit/tap.h"
#include "writer/cuda/cubins.h"

#define PIECE 4096u
#define PIECES 10000u /* size of a cubin that is kept; 40 MB */

static struct tree_control control;
static struct writer w = {.control = &control};
static struct spool spool;
static struct lane_view lanes[2];

/* Feed a piece of a cubin that consists of an ELF header. */
static void feed(unsigned lane, uint64_t hash, uint32_t number, uint32_t count)
{
	struct {
		struct record r;
		struct cuda_cubin head;
		uint8_t bytes[PIECE];
	} piece = {.r.a = hash, .head = {.offset = (uint64_t)number * PIECE}};
	Elf64_Ehdr elf = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64}, .e_machine = 190};
	struct segment s = {.w = &w, .spool = &spool, .view = &lanes[lane]};
	piece.head.total_bytes = (uint64_t)count * PIECE;
	if (!number)
		memcpy(piece.bytes, &elf, sizeof(elf));
	cubin_piece_put(&s,
		&(struct record_at){.r = &piece.r,
			.payload = (const uint8_t *)&piece.head,
			.bytes = sizeof(piece.head) + PIECE});
}

/* Report the module, as the thread does when it has written the code. */
static void told(unsigned lane, uint64_t hash)
{
	uint64_t values[CUDA_COLUMNS_MAX + 1] = {[COLUMN_CUDA_MODULE_CUBIN_HASH] = hash};
	struct segment s = {.w = &w, .spool = &spool, .view = &lanes[lane]};
	cubins_note_module(&s, values);
}

int main(void)
{
	enum { WHOLE = 1, GAP, CUT, LARGE, TWICE };
	spool.pid = 1;
	w.spools.count = 1;
	w.spools.all = (struct spool *[]){&spool};

	for (uint32_t i = 0; i < 10; i++)
		feed(0, WHOLE, i, 10);
	check(w.report.block.num_sources == 1, "a cubin that arrives whole is kept");
	check(cubins_unwritten(&w) == 1, "a cubin that arrived whole is not in the file yet");
	w.report.block.num_sources = 0;

	for (uint32_t i = 0; i < PIECES; i++)
		if (i != PIECES - 9)
			feed(0, GAP, i, PIECES);
	check(!w.report.block.num_sources && !cubins_unwritten(&w),
		"a cubin with a gap is neither kept nor held");

	for (uint32_t i = 0; i < PIECES / 2; i++)
		feed(0, CUT, i, PIECES);
	told(1, CUT);
	check(cubins_unwritten(&w) == 1,
		"another thread's report of the module does not end its cubin");
	told(0, CUT);
	check(!cubins_unwritten(&w), "the sender's report of the module ends its cubin");

	for (uint32_t i = 0; i < 2 * PIECES; i++)
		feed(0, LARGE, i, 2 * PIECES);
	check(!w.report.block.num_sources && !cubins_unwritten(&w),
		"a cubin of 80 MB is neither kept nor held");

	for (uint32_t i = 0; i < 12; i++) {
		if (i < 7)
			feed(0, TWICE, i, 10); /* there is no room for this one */
		if (i >= 2)
			feed(1, TWICE, i - 2, 10);
	}
	check(w.report.block.num_sources == 1,
		"of two equal cubins that threads send at once one is kept");

	uint32_t entries = w.report.block.num_entries;
	cubins_finish(&w, &spool);
	check(w.report.block.num_entries == entries + 1,
		"one diagnostic says that cubins are missing");
	slot_release(&spool.slots[SLOT_CUBINS]);
	block_release(&w.report.block);
	slot_release(&w.slots[SLOT_CUBIN_HASHES]);
	return tap_done();
}
