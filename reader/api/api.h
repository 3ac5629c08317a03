/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - private definitions of the handles of libtrace-reader.h. */
#ifndef READER_API_API_H
#define READER_API_API_H

#include "libtrace-reader.h"
#include "reader/base/pool.h"
#include "reader/ncu/code/module.h"
#include "reader/ncu/code/nvdisasm.h"
#include "reader/ncu/results.h"
#include "reader/ncu/wire.h"
#include "reader/nvtx/deferred.h"
#include "reader/report/contents.h"

#define API_PROBLEMS_MAX 16u /* problems whose texts are kept */

#define API_CODE_MAX 16u /* modules whose code is kept */

/* Code of a module, and its instructions as text once requested. */
struct api_code {
	struct ncu_module module;
	struct nvdisasm text;
	bool was_run;
	int run_error; /* error of nvdisasm */
};

struct libtrace_report {
	struct report report;
	struct contents contents;
	struct ncu_results results;
	struct api_code
		*code[API_CODE_MAX]; /* modules loaded most recently; unused slots are NULL */
	size_t code_next;            /* index of the code that is replaced next */
	uint64_t problems;
	char *problem_texts[API_PROBLEMS_MAX]; /* texts of the first problems */
	struct nvtx_deferred deferred;         /* events added to the report */
};

/* Columns that grow together. */
struct api_values {
	uint8_t *kinds;
	uint64_t *bits;
};

struct libtrace_result {
	struct libtrace_report *of;
	const struct ncu_entry *entry;
	uint8_t *bytes;   /* bytes of the message, as stored in the file */
	struct pool pool; /* texts of metrics and instances */
	bool reference_is_read, has_reference;
	uint64_t reference; /* reference of its module */
	/* metrics, once requested */
	size_t count;
	struct api_values values;
	uint32_t *name_ids, *instance_counts;
	uint8_t *categories;
	struct { /* message of each metric, in `bytes` */
		const uint8_t *at, *end;
	} * messages;
	/* instances of all metrics, once requested */
	struct api_values instance_keys, instance_values;
};

/* Unpack the fields of the result that `part` names; the caller frees the message. Returns 0;
 * -EINVAL if there is no such field; -EBADMSG or -ENOMEM. */
int api_result_unpack(
	struct libtrace_result *result, const char *part, ProtobufCMessage **ret_message);

/* Free the code that the report holds. */
void api_code_release(struct libtrace_report *r);

#endif
