/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - `trace info`: the command.
 */
#include <stdio.h>

#include "reader/cli/commands.h"
#include "reader/cli/info/info.h"
#include "reader/cli/info/xspace.h"
#include "reader/cli/base/message.h"
#include "reader/xspace/xspace.h"

static int info_file(const struct options *o, const char *file, void *count)
{
	struct info i = {0};
	if (xspace_is(file)) {
		if ((*(int *)count)++ && !o->value[OPT_info_json])
			putchar('\n');
		return info_xspace(file, o->value[OPT_info_json]);
	}
	if (info_gather(&i, file, o->value[OPT_info_no_wait]))
		return STATUS_FAILED;
	if ((*(int *)count)++ && !o->value[OPT_info_json])
		putchar('\n');
	if (o->value[OPT_info_json])
		info_print_json(stdout, &i);
	else
		info_print(stdout, &i, o->value[OPT_info_verbose]);
	int status = cli_finish(stdout, "standard output");
	if (!status && i.r.problems)
		status = STATUS_DAMAGED;
	info_release(&i);
	return status;
}

int command_info(const struct options *o)
{
	int count = 0;
	return option_files(o, info_file, &count);
}
