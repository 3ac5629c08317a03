/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_listing.c - tests of the notes after a list of events that is empty.
 *
 * Ids of strings have holes: a name may have an id far above the number of strings.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/cli/base/input.h"
#include "reader/cli/events.h"
#include "tests/unit/make_report.h"
#include "tests/unit/tap.h"

#define FAR_ID 1000000u

static void report_write(const char *path)
{
	struct make_report m;
	make_init(&m, false);
	make_session(&m, 1000);
	make_process(&m, 1, 100, 1, "program");
	m.next_string = FAR_ID;
	make_calls(&m, 1, 100, 1,
		&(struct make_call){
			.start = 2000, .duration = 10, .function = make_string(&m, "far_away")});
	make_process_end(&m, 1, 9000, LIBTRACE__PROCESS_END__END_EXIT, 0);
	make_block_end(&m);
	make_save(&m, path);
	make_release(&m);
}

/* Store in `ret_said` what is printed on stderr when the calls of `name` by thread 1, which has
 * none, are listed. */
static void list(const char *path, const char *name, char *ret_said, size_t bytes)
{
	const struct contents_visitor visitor = {0};
	const struct events_form form = {0};
	const struct cursor_filter filter = {.name = name, .tid = 1};
	struct cli_report r = {0};
	FILE *said = tmpfile(), *out = fopen("/dev/null", "w");
	int usual = dup(STDERR_FILENO);
	if (!said || !out || usual < 0 || cli_open(&r, path, true))
		abort();
	dup2(fileno(said), STDERR_FILENO);
	int error = events_print(out, &r, &visitor, &filter, &form);
	dup2(usual, STDERR_FILENO);
	close(usual);
	cli_close(&r);
	rewind(said);
	ret_said[fread(ret_said, 1, bytes - 1, said)] = 0;
	check(!error, "the calls of %s are listed", name);
	fclose(said);
	fclose(out);
}

int main(void)
{
	char path[] = "/tmp/libtrace-listing-XXXXXX", said[512];
	int fd = mkstemp(path);
	if (fd < 0)
		abort();
	close(fd);
	report_write(path);
	list(path, "far_*", said, sizeof(said));
	check(!strstr(said, "no call"), "a function of the report is known, whatever its id");
	list(path, "absent", said, sizeof(said));
	check(strstr(said, "no call of a function that matches 'absent'"),
		"a function that the report does not have is named");
	unlink(path);
	return tap_done();
}
