/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl_names.h - SQL functions for names of OpenCL. Called by connection.c alone.
 *
 *   opencl_command(type)           the name of a cl_command_type, "CL_COMMAND_READ_BUFFER"; NULL if
 *                                  it is not known
 *   opencl_function(name)          the number of a function in timelines of CodeXL; NULL if that
 *                                  format does not have it
 *   opencl_result(name, word)      the result of a call of this function, as CodeXL writes it: the
 *                                  name of an error, a handle, or NULL
 */
#ifndef READER_SQL_OPENCL_NAMES_H
#define READER_SQL_OPENCL_NAMES_H

#include "reader/sql/connection.h"

/* Register the functions. Returns 0 or a negative errno. */
int opencl_names_add(struct sql *s);

#endif
