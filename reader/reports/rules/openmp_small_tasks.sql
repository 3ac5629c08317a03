-- SPDX-License-Identifier: Apache-2.0
-- OpenMP Tasks Too Small
-- severity: warning
-- columns: Total Time (ns), Tasks, Avg (ns), PID, Created by text
-- needs: OPENMP_EVENT_KIND_TASK
-- data: OpenMP event
-- before: openmp
-- advice: At least 1000 explicit tasks took less than 2 us on average, about as much as to create, queue and schedule one between threads.
-- advice: Give a task more work: taskloop with grainsize, final or if clauses below a size, or several items a task.

WITH places AS MATERIALIZED (SELECT * FROM OPENMP_PLACES WHERE region = 15),
tasks AS (
  SELECT globalTid >> 24 AS process, taskId, sum("end" - start) AS ns FROM OPENMP_EVENT_KIND_TASK WHERE kind = 4 GROUP BY 1, 2)
SELECT sum(ns), count(*), avg(ns), t.process & 0xffffff, place
FROM tasks AS t LEFT JOIN places AS p ON p.process = t.process AND p.number = t.taskId
GROUP BY t.process, place
HAVING count(*) >= 1000 AND sum(ns) < 2000 * count(*)
ORDER BY 2 DESC, place;
