-- SPDX-License-Identifier: Apache-2.0
-- Threads That Migrate
-- severity: info
-- columns: Migrations Seen, Share (%), CPUs Seen, Samples, PID, TID, Thread Name text
-- needs: COMPOSITE_EVENTS
-- data: CPU samples (--sample=process-tree)
-- arguments: rows
-- advice: At least 20, and at least 20 %, of the thread's CPU samples were on another CPU than the previous sample; there may have been more migrations.
-- advice: A thread that changes its CPU loses its caches, and on NUMA machines also its local memory. Pin threads (OMP_PROC_BIND, taskset, numactl), or run fewer of them.

WITH places AS (SELECT globalTid, cpu, lag(cpu) OVER (PARTITION BY globalTid ORDER BY start) AS before FROM COMPOSITE_EVENTS),
moves AS (
  SELECT globalTid, sum(cpu <> before) AS moves, count(before) AS pairs, count(DISTINCT cpu) AS cpus, count(*) AS samples FROM places GROUP BY globalTid)
SELECT moves, 100.0 * moves / pairs, cpus, samples, globalTid >> 24 & 0xffffff, globalTid & 0xffffff,
       (SELECT s.value FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId WHERE t.globalTid = moves.globalTid LIMIT 1)
FROM moves
WHERE moves >= 20 AND 5 * moves >= pairs
ORDER BY moves DESC, globalTid
LIMIT coalesce(argument('rows'), 20);
