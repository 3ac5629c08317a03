-- SPDX-License-Identifier: Apache-2.0
-- OpenMP Tasks Too Small
-- severity: warning
-- columns: Total Time (ns), Tasks, Avg (ns), PID, Created by text
-- needs: OPENMP_EVENT_KIND_TASK
-- data: OpenMP event (--trace=openmp)
-- before: openmp
-- advice: At least 1000 explicit tasks took less than 2 us on average, about as much as to create, queue and schedule one between threads.
-- advice: Give a task more work: taskloop with grainsize, final or if clauses below a size, or several items a task.

WITH tasks AS (
  SELECT process, number, sum(ns) AS total_ns, max(place) AS place
  FROM (SELECT globalTid >> 24 AS process, taskId AS number, "end" - start AS ns, NULL AS place FROM OPENMP_EVENT_KIND_TASK WHERE kind = 4
        UNION ALL SELECT process, number, NULL, place FROM OPENMP_PLACES WHERE region = 15)
  GROUP BY 1, 2 HAVING count(ns) > 0)
SELECT sum(total_ns), count(*), avg(total_ns), process & 0xffffff, place
FROM tasks
GROUP BY process, place
HAVING count(*) >= 1000 AND sum(total_ns) < 2000 * count(*)
ORDER BY 2 DESC, place;
