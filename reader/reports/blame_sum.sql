-- SPDX-License-Identifier: Apache-2.0
-- Blame Summary
-- columns: Time (%), Total Time (ns), Segments, Wait text, Wait At text, Waiting TID, PID, TID, Rank, Stream, Cause text, At text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME MPI_P2P_EVENTS MPI_COLLECTIVES_EVENTS
-- data: recorded calls (--trace=osrt)
-- before: gpu_work openmp mpi mpi_waits nccl_waits path
-- arguments: range=GLOB memory=MIB

-- Waits on the critical path, and what the thread or stream did meanwhile that ended them: it was that which took the time.
-- Rank: that was waited for.
SELECT 100.0 * sum(s.ns) / (SELECT sum(ns) FROM PATH_SUMS), CAST(sum(s.ns) AS INTEGER), sum(s.count), s.wait_name, c.place, CASE WHEN s.wait_track > 0 THEN s.wait_track & 0xffffff END,
       s.process & 0xffffff, s.tid, s.rank, s.stream, s.cause, s.place
FROM PATH_CAUSES AS s LEFT JOIN PATH_CHAINS AS c ON c.source = (s.wait_source = 1) AND c.id = s.wait_chain
WHERE s.kind <> 'wake' AND s.wait_name IS NOT NULL
GROUP BY s.wait_name, c.place, s.wait_track, s.process, s.tid, s.stream, s.cause, s.place ORDER BY 2 DESC, 4, 5, 6, 7, 8, 11, 12;
