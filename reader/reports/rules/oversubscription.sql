-- SPDX-License-Identifier: Apache-2.0
-- More Running Threads than CPUs
-- severity: warning
-- columns: Oversubscribed (ns), Share (%), CPUs, Avg Running, Most Running, Threads
-- needs: OSRT_API LIBTRACE_THREAD_TIME
-- data: OS Runtime trace (--trace=osrt)
-- before: osrt thread_time
-- advice: For at least 20 % of the time, and 50 ms, more threads were runnable than the machine has CPUs: by the kernel's counters where the report has them (--thread-time); else a thread counts as runnable unless it is in a recorded call of 10 us or more.
-- advice: Use fewer threads (OMP_NUM_THREADS, pool sizes), or one shared pool. A container may have even fewer CPUs.

WITH lives AS MATERIALIZED (SELECT * FROM THREAD_LIFETIMES),
-- Short calls count as work. A call in which a thread sleeps until its process ends has no row in OSRT_API.
calls AS (
  SELECT start, "end" FROM OSRT_API WHERE eventClass = 27 AND "end" - start >= 10000
  UNION ALL SELECT start, start + duration FROM LIBTRACE_OSRT_UNFINISHED WHERE duration >= 10000),
changes AS (
  SELECT start AS time, 1 AS change FROM lives UNION ALL SELECT "end", -1 FROM lives
  UNION ALL SELECT start, -1 FROM calls UNION ALL SELECT "end", 1 FROM calls),
-- Counters give fractions of CPUs; two tenths do not count as a thread.
counted AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM THREAD_READINGS) AS is_known),
moments AS (
  SELECT lead(time) OVER so_far - time AS ns, sum(change) OVER so_far AS running
  FROM (SELECT time, change FROM changes WHERE NOT (SELECT is_known FROM counted)
        UNION ALL SELECT start, cpus FROM CPU_DEMANDS UNION ALL SELECT "end", -cpus FROM CPU_DEMANDS) WINDOW so_far AS (ORDER BY time ROWS UNBOUNDED PRECEDING)),
cpus AS MATERIALIZED (SELECT max(1, value + 0) AS count FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores' LIMIT 1),
over AS (
  SELECT sum(CASE WHEN running > cpus.count + 0.2 THEN ns END) AS ns, sum(ns) AS all_ns, cpus.count AS cpus,
         1.0 * sum(CASE WHEN running > cpus.count + 0.2 THEN ns * running END) / sum(CASE WHEN running > cpus.count + 0.2 THEN ns END) AS mean,
         max(CASE WHEN ns > 0 THEN running END) AS most
  FROM moments CROSS JOIN cpus)
SELECT ns, 100.0 * ns / all_ns, cpus, mean, most, (SELECT count(*) FROM lives)
FROM over
WHERE ns >= 50000000 AND 5 * ns >= all_ns;
