-- SPDX-License-Identifier: Apache-2.0
-- More Running Threads than CPUs
-- severity: warning
-- columns: Oversubscribed (ns), Share (%), CPUs, Avg Running, Most Running, Threads
-- needs: OSRT_API
-- data: OS Runtime trace
-- advice: For a fifth of the time or more (and 50 ms), more threads were in no recorded call of 10 us or more, and so wanted to run, than the machine has CPUs.
-- advice: Use fewer threads (OMP_NUM_THREADS, the size of pools), or one pool for all; a container may have fewer CPUs still.

WITH lives AS MATERIALIZED (
  SELECT globalTid, min(start) AS start, max("end") AS "end"
  FROM (SELECT globalTid, min(start) AS start, max("end") AS "end" FROM OSRT_API WHERE eventClass = 27 GROUP BY globalTid
        UNION ALL SELECT globalTid, timestamp, timestamp FROM LIBTRACE_THREAD_START
        UNION ALL SELECT globalTid, timestamp, timestamp FROM LIBTRACE_THREAD_END)
  GROUP BY globalTid),
-- short calls are work, too
calls AS (SELECT start, "end" FROM OSRT_API WHERE eventClass = 27 AND "end" - start >= 10000),
changes AS (
  SELECT start AS time, 1 AS change FROM lives UNION ALL SELECT "end", -1 FROM lives
  UNION ALL SELECT start, -1 FROM calls UNION ALL SELECT "end", 1 FROM calls),
moments AS (
  SELECT lead(time) OVER so_far - time AS ns, sum(change) OVER so_far AS running
  FROM changes WINDOW so_far AS (ORDER BY time ROWS UNBOUNDED PRECEDING)),
cpus AS MATERIALIZED (SELECT max(1, value + 0) AS count FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores' LIMIT 1),
over AS (
  SELECT sum(CASE WHEN running > cpus.count THEN ns END) AS ns, sum(ns) AS all_ns, cpus.count AS cpus,
         1.0 * sum(CASE WHEN running > cpus.count THEN ns * running END) / sum(CASE WHEN running > cpus.count THEN ns END) AS mean,
         max(CASE WHEN ns > 0 THEN running END) AS most
  FROM moments CROSS JOIN cpus)
SELECT ns, 100.0 * ns / all_ns, cpus, mean, most, (SELECT count(*) FROM lives)
FROM over
WHERE ns >= 50000000 AND 5 * ns >= all_ns;
