-- SPDX-License-Identifier: Apache-2.0
-- Time in Barriers
-- severity: warning
-- columns: Waited (ns), Waited (%), Avg (ns), Waits, PID, Name text, Region text
-- needs: OPENMP_EVENT_KIND_PARALLEL OPENMP_EVENT_KIND_TASK OPENMP_EVENT_KIND_SYNC_REGION
-- data: OpenMP event (--trace=openmp)
-- before: openmp
-- advice: Threads of OpenMP spent at least 20 % of their time in a parallel region, and 10 ms, in barriers of one kind.
-- advice: Where the work is even (rule openmp_imbalance), the regions or loops are too short: merge them into one region, use nowait, or fewer threads.

WITH teams AS MATERIALIZED (SELECT process, place, sum(ns) AS ns FROM OPENMP_TEAMS GROUP BY process, place),
waits AS MATERIALIZED (
  SELECT process, pid, place, name, sum(ns) AS ns, sum(parts) AS parts FROM OPENMP_BARRIERS GROUP BY process, place, name)
SELECT w.ns, 100.0 * w.ns / t.ns, w.ns / w.parts, w.parts, w.pid, w.name, w.place
FROM waits AS w JOIN teams AS t ON t.process = w.process AND t.place IS w.place
WHERE w.ns >= 10000000 AND 5 * w.ns >= t.ns
ORDER BY 1 DESC, w.pid, w.name, w.place;
