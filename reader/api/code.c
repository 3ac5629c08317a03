/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.c - code of the modules of kernels: instructions, their PTX and source lines, and the source
 * files that the report contains.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/api/api.h"
#include "reader/api/json.h"

static void code_free(struct api_code *c)
{
	if (!c)
		return;
	nvdisasm_release(&c->text);
	ncu_module_release(&c->module);
	free(c);
}

void api_code_release(struct libtrace_report *r)
{
	for (size_t i = 0; i < API_CODE_MAX; i++)
		code_free(r->code[i]);
}

/* Return the reference of the result's module in *ret_reference; read it only once. Returns false
 * if the result has none. */
static bool reference_of(struct libtrace_result *r, uint64_t *ret_reference)
{
	ProtobufCMessage *message;
	if (!r->reference_is_read && r->entry->kind == NCU_RESULT &&
		!api_result_unpack(r, "source", &message)) {
		const Ncu__SourceData *source = ((const Ncu__ProfileResult *)message)->source;
		r->has_reference = source && source->has_reference;
		r->reference = r->has_reference ? source->reference : 0;
		protobuf_c_message_free_unpacked(message, NULL);
	}
	r->reference_is_read = true;
	*ret_reference = r->reference;
	return r->has_reference;
}

static int code_open(struct libtrace_report *r, uint64_t reference, struct api_code **ret_code)
{
	struct api_code *c = calloc(1, sizeof(*c));
	int error = c ? ncu_module_read(&c->module, &r->results, reference) : -ENOMEM;
	if (error) {
		code_free(c);
		return error;
	}
	code_free(r->code[r->code_next]);
	*ret_code = r->code[r->code_next] = c;
	r->code_next = (r->code_next + 1) % API_CODE_MAX;
	return 0;
}

/* Return the code of the result's module in *ret_code, owned by the report; NULL if the result
 * names no module. Returns 0, -EIO or -ENOMEM. */
static int code_of(struct libtrace_result *result, struct api_code **ret_code)
{
	struct libtrace_report *r = result->of;
	uint64_t reference;
	*ret_code = NULL;
	if (!reference_of(result, &reference))
		return 0;
	for (size_t i = 0; i < API_CODE_MAX && r->code[i]; i++)
		if (r->code[i]->module.reference == reference) {
			*ret_code = r->code[i];
			return 0;
		}
	return code_open(r, reference, ret_code);
}

/* Position of an instruction in a module. */
struct position {
	struct api_code *code;
	const struct module_function *function; /* NULL = not in any of its functions */
	uint64_t offset;                        /* offset in the function */
};

static int position_find(struct libtrace_result *result, uint64_t address, struct position *p)
{
	*p = (struct position){.code = NULL};
	int error = code_of(result, &p->code);
	if (error || !p->code)
		return error;
	const struct ncu_module *m = &p->code->module;
	size_t low = 0, high = m->function_count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (m->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct module_function *f = low ? &m->functions[low - 1] : NULL;
	if (f && f->code && address - f->address < f->bytes) {
		p->function = f;
		p->offset = address - f->address;
	}
	return 0;
}

static int text_copy(const char *text, char **ret_text)
{
	*ret_text = text ? strdup(text) : NULL;
	return text && !*ret_text ? -ENOMEM : 0;
}

static int code_disassemble(struct api_code *c)
{
	if (!c->was_run)
		c->run_error = nvdisasm_run(&c->text, &c->module.cubin);
	c->was_run = true;
	return c->run_error;
}

int libtrace_result_sass(struct libtrace_result *result, uint64_t address, char **ret_text)
{
	struct position p;
	char *text = NULL;
	int error = position_find(result, address, &p);
	if (!error && p.function)
		error = code_disassemble(p.code);
	if (!error && p.function) {
		const struct cubin_function *f = p.function->code;
		error = nvdisasm_text(&p.code->text, f->section, f->offset + p.offset,
			p.function->address - f->offset, &text);
	}
	if (!error)
		*ret_text = text;
	return error;
}

int libtrace_result_ptx(struct libtrace_result *result, uint64_t address, char **ret_text)
{
	struct position p;
	int error = position_find(result, address, &p);
	if (error)
		return error;
	return text_copy(
		p.function ? cubin_ptx_at(&p.code->module.cubin, p.function->code, p.offset) : NULL,
		ret_text);
}

int libtrace_result_line(
	struct libtrace_result *result, uint64_t address, char **ret_file, uint32_t *ret_line)
{
	const struct cubin_line *line = NULL;
	struct position p;
	int error = position_find(result, address, &p);
	if (!error && p.function)
		line = cubin_line_at(&p.code->module.cubin, p.function->code, p.offset);
	if (!error)
		error = text_copy(line ? p.code->module.cubin.files[line->file] : NULL, ret_file);
	if (!error)
		*ret_line = line ? line->line : 0;
	return error;
}

/* Use the first part of the module that has source files. */
int libtrace_result_source_files(struct libtrace_result *result, char **ret_json)
{
	const Ncu__SourceFiles *files = NULL;
	struct api_code *c;
	int error = code_of(result, &c);
	if (error)
		return error;
	for (size_t i = 0; c && !files && i < c->module.part_count; i++)
		files = c->module.parts[i]->source_files;
	return json_message(files ? &files->base : NULL, ret_json);
}
