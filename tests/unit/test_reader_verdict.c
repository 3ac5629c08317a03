/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_verdict.c - tests of the verdict: a report is complete if its own numbers show no
 * missing events.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/info/info.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

static char text[512];

/* Write a report of one process whose receipt states `unaccounted` events; store its verdict in
 * `text`. Return whether the report is complete. */
static bool verdict_of(uint64_t unaccounted)
{
	char path[] = "/tmp/libtrace-verdict-XXXXXX";
	struct make_report m;
	struct info info = {0};
	Libtrace__Entry entry = LIBTRACE__ENTRY__INIT;
	Libtrace__Receipt receipt = LIBTRACE__RECEIPT__INIT;
	int fd = mkstemp(path);
	if (fd < 0)
		abort();
	close(fd);
	make_init(&m, false);
	make_session(&m, 1000);
	make_process(&m, 1, 100, 1, "program");
	make_calls(&m, 1, 100, 1, &(struct make_call){.start = 2000, .duration = 10});
	make_process_end(&m, 1, 9000, LIBTRACE__PROCESS_END__END_EXIT, 0);
	receipt.has_process = receipt.has_produced = receipt.has_written = receipt.has_unaccounted =
		true;
	receipt.process = receipt.produced = receipt.written = 1;
	receipt.unaccounted = unaccounted;
	entry.receipt = &receipt;
	make_entry(&m, &entry);
	make_block_end(&m);
	make_save(&m, path);
	make_release(&m);
	if (info_gather(&info, path, true))
		abort();
	bool complete = info_verdict(&info, text, sizeof(text));
	info_release(&info);
	unlink(path);
	return complete;
}

int main(void)
{
	check(verdict_of(0) && !strncmp(text, "complete", 8),
		"a report is complete if nothing is missing");
	check(!verdict_of(3) && strstr(text, "3 events unaccounted for"),
		"a report with unaccounted events is not complete");
	return tap_done();
}
