-- SPDX-License-Identifier: Apache-2.0
-- Critical Path Trace
-- columns: Start (ns), Duration (ns), PID, TID, Program text, Rank, Stream, Cause text, Sure text, At text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS LIBTRACE_FUNCTION_CALL
-- data: recorded calls (--trace=osrt)
-- before: gpu_work openmp mpi mpi_waits nccl_waits path path_segments
-- arguments: range=GLOB rows=N memory=MIB

-- Program: that the process ran then. Rank: of the process in MPI_COMM_WORLD. Sure: of a wait, how sure it is what ended it (shared/path.sql). At: the place of the call, or the
-- function that ran, by CPU samples.
SELECT s.start, CAST(s.ns AS INTEGER), s.pid, s.tid, s.program, s.rank, s.stream, s.cause, s.how, s.place FROM PATH_PLACES AS s
ORDER BY s.goal, s.number DESC, s.ns DESC, s.place
LIMIT coalesce(CAST(argument('rows') AS INTEGER), -1);
