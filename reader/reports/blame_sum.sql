-- SPDX-License-Identifier: Apache-2.0
-- Blame Summary
-- columns: Time (%), Total Time (ns), Segments, Wait text, Wait At text, Waiting TID, PID, TID, Stream, Cause text, At text
-- needs: OSRT_API CUPTI_ACTIVITY_KIND_RUNTIME
-- data: recorded calls
-- before: osrt launch_calls gpu_work openmp path
-- arguments: range=GLOB

-- Waits on the critical path, and what the thread or stream did meanwhile that ended them: it was that which took the time.
SELECT 100.0 * sum(s.ns) / (SELECT sum(ns) FROM PATH_SEGMENTS), CAST(sum(s.ns) AS INTEGER), count(*), w.name, c.place, w.globalTid & 0xffffff,
       s.pid, s.tid, s.stream, s.cause, s.place
FROM PATH_PLACES AS s JOIN PATH_USED AS w ON w.number = s.wait
     LEFT JOIN PATH_CHAINS AS c ON c.source = CASE w.source WHEN 1 THEN 1 ELSE 0 END AND c.id = w.chain
WHERE s.kind <> 'wake'
GROUP BY w.name, c.place, w.globalTid, s.pid, s.tid, s.stream, s.cause, s.place ORDER BY 2 DESC, 4, 5, 6, 7, 8, 10, 11;
