/* SPDX-License-Identifier: Apache-2.0 */
/* Code of modules as it comes in pieces: whole, with gaps, twice at once, more than is kept; what
 * cannot become whole is not held: cubins_unwritten() counts what is. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cuda_spool.h"
#include "common/schema/cuda_columns.h"
#include "tests/unit/tap.h"
#include "writer/cubins.h"

#define PIECE 4096u
#define PIECES 10000u /* of one that is kept; 40 MB */

static struct writer w;
static struct spool spool;
static struct lane_view lanes[2];

/* A piece of a cubin that has nothing but an ELF header. */
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
	cubins_piece_put(&s, &piece.r, sizeof(piece.head) + PIECE);
}

/* The thread tells of the module, as it does when it has sent the code. */
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
	check(w.block.num_sources == 1, "one that comes whole is kept");
	check(cubins_unwritten(&w) == 1, "and is not in the file yet");
	w.block.num_sources = 0;

	for (uint32_t i = 0; i < PIECES; i++)
		if (i != PIECES - 9)
			feed(0, GAP, i, PIECES);
	check(!w.block.num_sources && !cubins_unwritten(&w),
		"one with a gap is not, nor is it held any longer");

	for (uint32_t i = 0; i < PIECES / 2; i++)
		feed(0, CUT, i, PIECES);
	told(1, CUT);
	check(cubins_unwritten(&w) == 1, "another thread's word of the module ends nothing");
	told(0, CUT);
	check(!cubins_unwritten(&w), "the sender's does: no more will come");

	for (uint32_t i = 0; i < 2 * PIECES; i++)
		feed(0, LARGE, i, 2 * PIECES);
	check(!w.block.num_sources && !cubins_unwritten(&w), "one of 80 MB is not kept, nor held");

	for (uint32_t i = 0; i < 12; i++) {
		if (i < 7)
			feed(0, TWICE, i, 10); /* and then finds no room */
		if (i >= 2)
			feed(1, TWICE, i - 2, 10);
	}
	check(w.block.num_sources == 1, "two threads send the same at once: one is kept");

	uint32_t entries = w.block.num_entries;
	cubins_finish(&w, &spool);
	check(w.block.num_entries == entries + 1, "one line says that some are missing");
	cubins_free(spool.cubins);
	block_release(&w.block);
	free(w.cubin_hashes);
	return tap_done();
}
