/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_needs.h - check of the options of `trace run` that depend on each other.
 */
#ifndef READER_CLI_RECORD_OPTION_NEEDS_H
#define READER_CLI_RECORD_OPTION_NEEDS_H

#include "reader/cli/record/launch.h"

/* Check that each option that was given has an effect, by the rows of option_needs.def. Variables
 * count where they stand for an option that another one needs; one that has no effect itself is no
 * error, since the environment is shared by many runs. l->capture and l->functions must be set.
 * Returns 0, or -EINVAL after a message. */
int option_needs_check(const struct launch *l);

#endif
