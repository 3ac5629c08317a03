/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codexl_back.c - export of a report that `trace import` created from files of CodeXL, to such a
 * file.
 */
#include "reader/cli/export/codexl_back.h"

#include <inttypes.h>
#include <string.h>

#include "reader/cli/export/timeline.h"
#include "reader/cli/base/message.h"
#include "reader/codexl/write.h"

int export_codexl_back(FILE *out, struct cli_report *r, enum codexl_format format,
	const struct contents_visitor *visitor, uint64_t *ret_events)
{
	static const uint32_t carried[] = {KIND_CODEXL_HEADER, KIND_CODEXL_CALL,
		KIND_CODEXL_COMMAND, KIND_CODEXL_KERNEL, KIND_NVTX_RANGE, 0},
			      cells[] = {KIND_CODEXL_HEADER, KIND_CODEXL_CELL, 0};
	struct contents c;
	uint64_t lost = 0;
	int error;
	contents_init(&c);
	struct codexl_writer *w = codexl_writer_open(&r->report, &c, visitor, &error);
	if (!error && !codexl_writer_has(w, format)) {
		memcpy(ret_events, c.selected, sizeof(c.selected));
		error = 1;
	}
	if (!error && visitor->problem)
		error = codexl_writer_write(w, out, format, &lost);
	if (!error && visitor->problem) {
		export_note_others(r->path, codexl_format_name(format), &c,
			format == CODEXL_TIMELINE ? carried : cells);
		cli_note_cut_off(r, &c);
	}
	if (lost)
		cli_note("%s: left out: %" PRIu64 " commands without their call", r->path, lost);
	codexl_writer_close(w);
	contents_release(&c);
	return error;
}
