-- SPDX-License-Identifier: Apache-2.0
-- Critical Path Summary
-- columns: Time (%), Total Time (ns), Segments, Max (ns), PID, TID, Stream, Cause text, Sure text, At text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME
-- data: recorded calls
-- before: osrt launch_calls gpu_work openmp path
-- arguments: range=GLOB rows=N

-- Sure: of a wait, how sure it is what ended it (shared/path.sql). At: the place of the call, or the function that ran, by CPU samples.
SELECT 100.0 * sum(s.ns) / sum(sum(s.ns)) OVER (), CAST(sum(s.ns) AS INTEGER), count(*), CAST(max(s.ns) AS INTEGER), s.pid, s.tid, s.stream, s.cause, s.how, s.place
FROM PATH_PLACES AS s GROUP BY s.pid, s.tid, s.stream, s.cause, s.how, s.place ORDER BY 2 DESC, s.pid, s.tid, s.cause, s.how, s.place
LIMIT coalesce(CAST(argument('rows') AS INTEGER), -1);
