#include "reader/cli/cli.h"

int command_recover(const struct options *o)
{
	(void)o;
	cli_error("'recover' is not there yet");
	return STATUS_FAILED;
}
