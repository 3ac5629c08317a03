/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - definitions of Python code objects whose frames are in callchains.
 *
 * One thread.
 */
#ifndef WRITER_LANE_PYTHON_H
#define WRITER_LANE_PYTHON_H

#include "writer/lane/segment.h"

/* Process the record of a definition (lane/segment.h): add its row. */
record_put python_code_put;

#endif
