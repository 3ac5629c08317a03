/*
 * source.c - the modules of kernels, and the source files that they bring.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/api/api.h"
#include "reader/api/json.h"
#include "reader/ncu/depth.h"

int api_modules_note(struct libtrace_report *r, const struct report_block *block)
{
	uint64_t at = block->payload_offset;
	for (uint32_t i = 0; i < block->header->num_sources; i++) {
		uint32_t bytes;
		if (block->end - at < sizeof(bytes))
			return -EBADMSG;
		int error = source_read(&r->report.source, at, &bytes, sizeof(bytes));
		if (error)
			return error;
		const struct api_module m = {at + sizeof(bytes), le32toh(bytes)};
		if (m.bytes > block->end - m.offset)
			return -EBADMSG;
		struct api_module *all =
			reallocarray(r->modules, r->module_count + 1, sizeof(*all));
		if (!all)
			return -ENOMEM;
		r->modules = all;
		r->modules[r->module_count++] = m;
		at = m.offset + m.bytes;
	}
	return 0;
}

static int module_read(
	const struct libtrace_report *r, const struct api_module *m, Ncu__SourceData **ret_module)
{
	uint8_t *bytes = malloc(m->bytes + 1u);
	int error = bytes ? source_read(&r->report.source, m->offset, bytes, m->bytes) : -ENOMEM;
	*ret_module = NULL;
	if (!error && message_depth_is_sane(&ncu__source_data__descriptor, bytes, m->bytes))
		*ret_module = ncu__source_data__unpack(NULL, m->bytes, bytes);
	free(bytes);
	return error || *ret_module ? error : -EBADMSG;
}

/* The reference of the result's module; false: it names none. */
static bool reference_of(struct libtrace_result *result, uint64_t *ret_reference)
{
	ProtobufCMessage *message;
	if (result->entry->kind != NCU_RESULT || api_result_unpack(result, "source", &message))
		return false;
	const Ncu__SourceData *source = ((const Ncu__ProfileResult *)message)->source;
	const bool has = source && source->has_reference;
	*ret_reference = has ? source->reference : 0;
	protobuf_c_message_free_unpacked(message, NULL);
	return has;
}

/* Modules with one reference are one; the first with files counts. */
int libtrace_result_source_files(struct libtrace_result *result, char **ret_json)
{
	const struct libtrace_report *r = result->of;
	uint64_t reference;
	if (!reference_of(result, &reference))
		return json_message(NULL, ret_json);
	for (size_t i = 0; i < r->module_count; i++) {
		Ncu__SourceData *module;
		int error = module_read(r, &r->modules[i], &module);
		if (error)
			return error;
		const bool is_it = module->has_reference && module->reference == reference &&
			module->source_files;
		if (is_it)
			error = json_message(&module->source_files->base, ret_json);
		ncu__source_data__free_unpacked(module, NULL);
		if (is_it)
			return error;
	}
	return json_message(NULL, ret_json);
}
