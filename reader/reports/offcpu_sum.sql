-- SPDX-License-Identifier: Apache-2.0
-- Off-CPU Summary
-- columns: Time (%), Total Time (ns), Num Calls, Max (ns), Threads, Name text, Callchain text
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time=process-tree)
-- before: osrt thread_time

-- What all threads did while they were not running. The time of a call excludes its processor time (by CPU samples) and
-- its share of the time that the thread was runnable or stopped within calls. Max and the callchain are those of the
-- longest call; its time is reduced as that of all calls of the function in its thread.
WITH rows_of AS (
  SELECT blocked AS ns, calls, min(blocked, longest * blocked / nullif(ns, 0)) AS longest, globalTid, name, chain FROM CALL_WAITS
  UNION ALL SELECT ns, NULL, NULL, globalTid, name, NULL FROM OTHER_WAITS WHERE ns > 0),
-- columns without an aggregate have the values of the longest call
names AS (SELECT sum(ns) AS ns, sum(calls) AS calls, max(longest) AS longest, count(DISTINCT globalTid) AS threads, name, chain FROM rows_of GROUP BY name)
SELECT coalesce(100.0 * ns / sum(ns) OVER (), 0.0), CAST(ns AS INTEGER), calls, CAST(longest AS INTEGER), threads, name,
       (SELECT group_concat(text, ' < ') FROM (SELECT text FROM FRAMES WHERE id = names.chain ORDER BY stackDepth LIMIT 8))
FROM names WHERE ns >= 0.5
ORDER BY 2 DESC, name;
