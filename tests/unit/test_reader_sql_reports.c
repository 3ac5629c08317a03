/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_sql_reports.c - tests of the SQL that reports run: the tables that it names.
 */
#include "tests/unit/tap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "reader/base/words.h"
#include "reader/sql/reports.h"

static bool reads(const char *list, const char *table)
{
	char *sql = reports_sql(list);
	bool has = sql && words_have(sql, table);
	free(sql);
	return has;
}

int main(void)
{
	check(words_have("SELECT a_b FROM T", "a_b") && words_have("T", "T") &&
			!words_have("a_b", "a") && !words_have("a_b b1", "b"),
		"a word is not within a longer one");
	check(reads("mpi_late_sum", "MPI_COLLECTIVES_EVENTS"), "a table of the report");
	check(reads("mpi_late_sum", "OSRT_API") &&
			reads("mpi_late_sum", "LIBTRACE_MPI_COMMUNICATOR"),
		"tables of the shared files before it");
	check(reads("mpi_late_sum", "NVTX_EVENTS"), "a table of a common view");
	check(!reads("mpi_late_sum", "LIBTRACE_FUNCTION_CALL") &&
			!reads("mpi_late_sum", "CUPTI_ACTIVITY_KIND_MEMCPY"),
		"not what it does not use");
	check(reads("cuda_gpu_kern_sum:base,function_sum", "CUPTI_ACTIVITY_KIND_KERNEL") &&
			reads("cuda_gpu_kern_sum:base,function_sum", "LIBTRACE_FUNCTION_CALL"),
		"a report with an argument, by views of views, and one after it");
	return tap_done();
}
