-- SPDX-License-Identifier: Apache-2.0
-- Time in Barriers
-- severity: warning
-- columns: Waited (ns), Waited (%), Avg (ns), Waits, PID, Name text, Region text
-- needs: OPENMP_EVENT_KIND_PARALLEL OPENMP_EVENT_KIND_TASK OPENMP_EVENT_KIND_SYNC_REGION
-- data: OpenMP event
-- before: openmp
-- advice: Threads of OpenMP spent at least 20 % of their time in a parallel region, and 10 ms, in barriers of one kind.
-- advice: Where the work is even (rule openmp_imbalance), the regions or loops are too short: merge them into one region, use nowait, or fewer threads.

WITH places AS MATERIALIZED (SELECT * FROM OPENMP_PLACES WHERE region = 28),
teams AS MATERIALIZED (
  SELECT t.process, place, sum(ns) AS ns FROM OPENMP_TEAMS AS t LEFT JOIN places AS p ON p.process = t.process AND p.number = t.parallelId
  GROUP BY t.process, place),
waits AS MATERIALIZED (
  SELECT b.process, pid, place, name, sum(ns) AS ns, sum(parts) AS parts
  FROM OPENMP_BARRIERS AS b LEFT JOIN places AS p ON p.process = b.process AND p.number = b.parallelId
  GROUP BY b.process, place, name)
SELECT w.ns, 100.0 * w.ns / t.ns, w.ns / w.parts, w.parts, w.pid, w.name, w.place
FROM waits AS w JOIN teams AS t ON t.process = w.process AND t.place IS w.place
WHERE w.ns >= 10000000 AND 5 * w.ns >= t.ns
ORDER BY 1 DESC, w.pid, w.name, w.place;
