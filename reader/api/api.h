/*
 * api.h - what lies behind the handles of libtrace-reader.h.
 */
#ifndef READER_API_API_H
#define READER_API_API_H

#include "libtrace-reader.h"
#include "reader/contents.h"
#include "reader/ncu/results.h"
#include "reader/ncu/wire.h"
#include "reader/nvtx_deferred.h"
#include "reader/pool.h"

/* A module that results point to: a SourceData. */
struct api_module {
	uint64_t offset;
	uint32_t bytes;
};

struct libtrace_report {
	struct report report;
	struct contents contents;
	struct ncu_results results;
	struct api_module *modules; /* in file order */
	size_t module_count;
	uint64_t problems;
	struct nvtx_deferred deferred; /* stand among the other events */
};

/* Columns that grow together. */
struct api_values {
	uint8_t *kinds;
	uint64_t *bits;
};

struct libtrace_result {
	struct libtrace_report *of;
	const struct ncu_entry *entry;
	uint8_t *bytes;   /* of the message, as in the file */
	struct pool pool; /* texts of metrics and instances */
	/* metrics, once they were asked for */
	size_t count;
	struct api_values values;
	uint32_t *name_ids, *instance_counts;
	uint8_t *categories;
	struct { /* of the message of each metric, in `bytes` */
		const uint8_t *at, *end;
	} * places;
	/* of all of them, once they were asked for */
	struct api_values instance_keys, instance_values;
};

/* Unpacks the fields of the result that `part` names, which the caller frees. 0; -EINVAL: no such
 * field; -EBADMSG, -ENOMEM. */
int api_result_unpack(
	struct libtrace_result *result, const char *part, ProtobufCMessage **ret_message);

/* Takes note of the modules in a block. 0, -EBADMSG, -EIO, -ENOMEM. */
int api_modules_note(struct libtrace_report *r, const struct report_block *block);

#endif
