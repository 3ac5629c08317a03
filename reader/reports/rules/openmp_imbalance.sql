-- SPDX-License-Identifier: Apache-2.0
-- Uneven Work in Parallel Regions
-- severity: warning
-- columns: Idle (ns), Idle (%), Regions, Threads, PID, Region text
-- needs: OPENMP_EVENT_KIND_PARALLEL OPENMP_EVENT_KIND_TASK OPENMP_EVENT_KIND_SYNC_REGION
-- data: OpenMP event (--trace=openmp)
-- before: openmp
-- advice: The threads of teams had different amounts of work between their barriers: at least 20 % of their time, and 10 ms, was spent waiting for the slowest one.
-- advice: Use schedule(dynamic) or schedule(guided), smaller chunks, or tasks; look at the region in the timeline to see which thread is slow.

WITH threads AS MATERIALIZED (
  SELECT t.process, t.parallelId, t.pid, t.place, t.globalTid, max(t.ns - coalesce((SELECT sum(b.ns) FROM barriers AS b WHERE b.process = t.process AND
         b.parallelId = t.parallelId AND b.globalTid = t.globalTid), 0), 0) AS busy
  FROM OPENMP_TEAMS AS t),
barriers AS MATERIALIZED (SELECT process, parallelId, globalTid, sum(ns) AS ns FROM OPENMP_BARRIERS GROUP BY 1, 2, 3),
regions AS (
  SELECT process, parallelId, pid, place, count(*) AS threads, max(busy) * count(*) AS possible, sum(busy) AS busy
  FROM threads GROUP BY process, parallelId HAVING count(*) > 1)
SELECT sum(possible - busy), 100.0 * sum(possible - busy) / sum(possible), count(*), max(threads), pid, place
FROM regions
GROUP BY process, place
HAVING sum(possible - busy) >= 10000000 AND 5 * sum(possible - busy) >= sum(possible)
ORDER BY 1 DESC, pid, place;
