-- SPDX-License-Identifier: Apache-2.0
-- Off-CPU Summary
-- columns: Time (%), Total Time (ns), Num Calls, Max (ns), Threads, Name text, Callchain text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time)
-- before: osrt thread_time

-- What threads did while they did not run: the time of all threads. Calls: their time less the processor time in them,
-- by CPU samples, and less a share of the thread's time without a CPU or stopped within calls. Max and the callchain are
-- of the longest call, with all of its time.
WITH waits AS MATERIALIZED (
  SELECT *, sum(max(0, ns - cpu)) OVER (PARTITION BY globalTid) AS all_ns FROM CALL_TIMES),
rows_of AS (
  SELECT max(0, w.ns - w.cpu) * 1.0 / nullif(w.all_ns, 0) * a.blocked AS ns, w.calls, w.longest, w.globalTid, s.value AS name, w.chain
  FROM waits AS w JOIN THREAD_ACCOUNT AS a ON a.globalTid = w.globalTid LEFT JOIN StringIds AS s ON s.id = w.nameId
  UNION ALL SELECT runnable, NULL, NULL, globalTid, '[runnable, no CPU]', NULL FROM THREAD_ACCOUNT WHERE runnable > 0
  UNION ALL SELECT stopped, NULL, NULL, globalTid, '[stopped]', NULL FROM THREAD_ACCOUNT WHERE stopped > 0
  UNION ALL SELECT unknown, NULL, NULL, globalTid, '[unknown]', NULL FROM THREAD_ACCOUNT WHERE unknown > 0),
-- columns without an aggregate have the values of the longest call
names AS (SELECT sum(ns) AS ns, sum(calls) AS calls, max(longest) AS longest, count(DISTINCT globalTid) AS threads, name, chain FROM rows_of GROUP BY name)
SELECT coalesce(100.0 * ns / sum(ns) OVER (), 0.0), CAST(ns AS INTEGER), calls, longest, threads, name,
       (SELECT group_concat(text, ' < ') FROM (SELECT text FROM FRAMES WHERE id = names.chain ORDER BY stackDepth LIMIT 8))
FROM names WHERE ns >= 0.5
ORDER BY 2 DESC, name;
