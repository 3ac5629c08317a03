-- SPDX-License-Identifier: Apache-2.0
-- Critical Path Summary
-- columns: Time (%), Total Time (ns), Segments, Max (ns), PID, TID, Program text, Rank, Stream, Cause text, Sure text, At text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS LIBTRACE_FUNCTION_CALL
-- data: recorded calls (--trace=osrt)
-- before: gpu_work openmp mpi mpi_waits nccl_waits path
-- arguments: range=GLOB rows=N memory=MIB

-- Rank: of the process in MPI_COMM_WORLD. Sure: of a wait, how sure it is what ended it (shared/path.sql). At: the place of the call, or the
-- function that ran, by CPU samples.
SELECT 100.0 * sum(ns) / sum(sum(ns)) OVER (), CAST(sum(ns) AS INTEGER), sum(count), CAST(max(longest) AS INTEGER), process & 0xffffff, tid, program, rank,
       stream, cause, how, place
FROM PATH_CAUSES GROUP BY process, program, tid, stream, cause, how, place ORDER BY 2 DESC, process, tid, cause, how, place
LIMIT coalesce(CAST(argument('rows') AS INTEGER), -1);
