#define _GNU_SOURCE
#include "reader/chain_print.h"

#include <string.h>

#include "reader/print.h"

static void print_hex(FILE *out, uint64_t number)
{
	fprintf(out, "0x%llx", (unsigned long long)number);
}

static void part(FILE *out, const char *text)
{
	print_json_part(out, text, strlen(text));
}

static void frame_text(FILE *out, const struct symbol *symbol, uint32_t frame, uint64_t address)
{
	const char *function = symbol->frames[frame].function,
		   *slash = symbol->module ? strrchr(symbol->module, '/') : NULL;
	if (function) {
		part(out, function);
	} else if (symbol->module) {
		part(out, slash ? slash + 1 : symbol->module);
		putc_unlocked('+', out);
		print_hex(out, symbol->offset);
	} else {
		print_hex(out, address);
	}
}

static void address_text(
	FILE *out, struct symbols *symbols, const struct process *p, uint64_t address, uint64_t ns)
{
	const struct symbol *symbol = symbols ? symbols_find(symbols, p, address, ns, NULL) : NULL;
	if (!symbol)
		print_hex(out, address);
	for (uint32_t i = 0; symbol && i < symbol->frame_count; i++) {
		if (i)
			fputs_unlocked(" <- ", out);
		frame_text(out, symbol, i, address);
	}
}

void chain_print_text(
	FILE *out, struct symbols *symbols, const struct process *p, uint32_t id, uint64_t ns)
{
	uint64_t addresses[CALLCHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count = callchain_addresses(
		&p->memory->callchains, id, addresses, CALLCHAIN_FRAMES_MAX, &whole);
	putc_unlocked('"', out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			fputs_unlocked(" <- ", out);
		address_text(out, symbols, p, addresses[i], ns);
	}
	if (!whole)
		fputs_unlocked(count ? " <- ?" : "?", out);
	putc_unlocked('"', out);
}

static void member(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	print_json_string(out, text);
}

static void frame_json(FILE *out, const struct symbol *symbol, uint32_t frame, uint64_t address)
{
	const struct symbol_frame *f = &symbol->frames[frame];
	bool inlined = frame + 1 < symbol->frame_count;
	fprintf(out, "{\"address\":\"0x%llx\"", (unsigned long long)address);
	member(out, "function", f->function);
	if (inlined)
		fputs_unlocked(",\"offset\":null", out);
	else
		fprintf(out, ",\"offset\":%llu", (unsigned long long)symbol->offset);
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

static void address_json(
	FILE *out, struct symbols *symbols, const struct process *p, uint64_t address, uint64_t ns)
{
	const struct symbol *symbol = symbols ? symbols_find(symbols, p, address, ns, NULL) : NULL;
	if (!symbol)
		fprintf(out, "{\"address\":\"0x%llx\"}", (unsigned long long)address);
	for (uint32_t i = 0; symbol && i < symbol->frame_count; i++) {
		if (i)
			putc_unlocked(',', out);
		frame_json(out, symbol, i, address);
	}
}

void chain_print_json(
	FILE *out, struct symbols *symbols, const struct process *p, uint32_t id, uint64_t ns)
{
	uint64_t addresses[CALLCHAIN_FRAMES_MAX];
	bool whole;
	uint32_t count = callchain_addresses(
		&p->memory->callchains, id, addresses, CALLCHAIN_FRAMES_MAX, &whole);
	putc_unlocked('[', out);
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			putc_unlocked(',', out);
		address_json(out, symbols, p, addresses[i], ns);
	}
	putc_unlocked(']', out);
}
