/* SPDX-License-Identifier: Apache-2.0 */
/* chain_print.c - output of a callchain as text or JSON. */
#define _GNU_SOURCE
#include "reader/symbols/chain_print.h"

#include <string.h>

#include "common/frame_address.h"
#include "reader/base/print.h"

static void print_hex(FILE *out, uint64_t number)
{
	fprintf(out, "0x%llx", (unsigned long long)number);
}

static void part(FILE *out, const char *text)
{
	print_json_part(out, text, strlen(text));
}

static void frame_text(
	FILE *out, const struct symbol *symbol, uint32_t frame, uint64_t address, unsigned back)
{
	const char *function = symbol->frames[frame].function,
		   *slash = symbol->module ? strrchr(symbol->module, '/') : NULL;
	if (function) {
		part(out, function);
	} else if (symbol->module) {
		part(out, slash ? slash + 1 : symbol->module);
		putc_unlocked('+', out);
		print_hex(out, symbol->offset - back);
	} else {
		print_hex(out, address - back);
	}
}

static void member(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	print_json_string(out, text);
}

static void frame_json(
	FILE *out, const struct symbol *symbol, uint32_t frame, uint64_t address, unsigned back)
{
	const struct symbol_frame *f = &symbol->frames[frame];
	bool inlined = frame + 1 < symbol->frame_count;
	fprintf(out, "{\"address\":\"0x%llx\"", (unsigned long long)(address - back));
	member(out, "function", f->function);
	if (inlined)
		fputs_unlocked(",\"offset\":null", out);
	else
		fprintf(out, ",\"offset\":%llu", (unsigned long long)(symbol->offset - back));
	member(out, "module", symbol->module);
	member(out, "file", f->file);
	fputs_unlocked(",\"line\":", out);
	if (f->line)
		print_u64(out, f->line);
	else
		fputs_unlocked("null", out);
	fprintf(out, ",\"inlined\":%s", inlined ? "true" : "false");
	if (!inlined && symbol->reason)
		member(out, "reason", symbol->reason);
	putc_unlocked('}', out);
}

static void address_json(FILE *out, uint64_t address)
{
	fputs_unlocked("{\"address\":\"", out);
	print_hex(out, address);
	fputs_unlocked("\"}", out);
}

/* ---- chains ---- */

struct style {
	const char *between; /* separator of frames */
	/* back: 1 for an interrupted instruction, whose address is stored with 1 added; else 0 */
	void (*frame)(FILE *out, const struct symbol *symbol, uint32_t frame, uint64_t address,
		unsigned back);
	void (*address)(FILE *out, uint64_t address); /* prints a frame without a name */
};

static const struct style style_text = {" <- ", frame_text, print_hex},
			  style_json = {",", frame_json, address_json};

/* Print the frames of a callchain, innermost first. Returns their number; *ret_whole: the callchain
 * is complete. */
static uint32_t frames_print(FILE *out, const struct style *style, struct symbols *symbols,
	const struct process *p, const struct printed_chain *c, bool *ret_whole)
{
	uint64_t addresses[CALLCHAIN_FRAMES_MAX];
	uint32_t count = callchain_addresses(
		&p->memory->callchains, c->node, addresses, CALLCHAIN_FRAMES_MAX, ret_whole);
	for (uint32_t i = 0; i < count; i++) {
		const struct symbol *symbol =
			symbols ? symbols_find(symbols, p, addresses[i], c->ns, NULL) : NULL;
		const unsigned back =
			!i && c->is_interrupted && !(addresses[i] & ADDRESS_PYTHON) ? 1 : 0;
		if (i)
			fputs_unlocked(style->between, out);
		if (!symbol)
			style->address(out, addresses[i] - back);
		for (uint32_t n = 0; symbol && n < symbol->frame_count; n++) {
			if (n)
				fputs_unlocked(style->between, out);
			style->frame(out, symbol, n, addresses[i], back);
		}
	}
	return count;
}

/* Print " at file.py:line": the innermost line of the program, not of a library, if the callchain
 * has one. */
static void place_text(
	FILE *out, struct symbols *symbols, const struct process *p, uint32_t id, uint64_t ns)
{
	uint64_t address;
	uint32_t frames = 0;
	while (frames++ < CALLCHAIN_FRAMES_MAX &&
		callchain_node(&p->memory->callchains, id, &id, &address)) {
		const struct symbol *s = address & ADDRESS_PYTHON
			? symbols_find(symbols, p, address, ns, NULL)
			: NULL;
		size_t bytes;
		const char *place = s && s->frames[0].function
			? python_place(s->frames[0].function, s->module, &bytes)
			: NULL;
		if (!place)
			continue;
		fputs_unlocked(" at ", out);
		print_json_part(out, place, bytes);
		return;
	}
}

void chain_print_text(
	FILE *out, struct symbols *symbols, const struct process *p, const struct printed_chain *c)
{
	bool is_whole;
	putc_unlocked('"', out);
	uint32_t count = frames_print(out, &style_text, symbols, p, c, &is_whole);
	if (!is_whole)
		fputs_unlocked(count ? " <- ?" : "?", out);
	putc_unlocked('"', out);
	if (symbols)
		place_text(out, symbols, p, c->node, c->ns);
}

void chain_print_json(
	FILE *out, struct symbols *symbols, const struct process *p, const struct printed_chain *c)
{
	bool is_whole;
	putc_unlocked('[', out);
	frames_print(out, &style_json, symbols, p, c, &is_whole);
	putc_unlocked(']', out);
}

void code_print(
	FILE *out, struct symbols *symbols, const struct process *p, uint64_t address, uint64_t ns)
{
	char text[PLACE_BYTES];
	if (!address) {
		fputs_unlocked("null", out);
		return;
	}
	symbols_place(symbols, p, address, ns, text);
	print_json_string(out, text);
}
