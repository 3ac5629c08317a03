#include "reader/cli/cli.h"

int command_run(const struct options *o)
{
	(void)o;
	cli_error("'run' is not there yet");
	return STATUS_FAILED;
}
