-- SPDX-License-Identifier: Apache-2.0
-- Threads Serialized by Python's GIL
-- severity: warning
-- columns: Waited (ns), Waits, Threads, Longest (ns), Share (%), PID, Holder At text, Holder TID, Holder Name text, Waiter At text, Waiter TID
-- needs: LIBTRACE_GIL_WAIT
-- data: waits for Python's GIL (--trace=osrt)
-- before: osrt gil
-- arguments: rows
-- advice: Threads of a process waited for Python's GIL at least 20 times, in total at least 10 ms and 10 % of the lifetime of the process.
-- advice: Each row is a line of the program where the GIL was held, with the longest wait for it. Release the GIL there (a library that does so,
-- advice: larger pieces of work per call), do that work in another process, or use fewer threads.

WITH lives AS MATERIALIZED (SELECT globalTid >> 24 AS process, max("end") - min(start) AS ns FROM THREAD_LIFETIMES GROUP BY 1),
processes AS MATERIALIZED (
  SELECT w.globalTid >> 24 AS process, l.ns FROM GIL_WAITS AS w JOIN lives AS l ON l.process = w.globalTid >> 24
  GROUP BY 1 HAVING count(*) >= 20 AND sum(w.ns) >= 10000000 AND 10 * sum(w.ns) >= l.ns),
-- columns without an aggregate have the values of the longest wait
lines AS (
  SELECT w.pid, sum(w.ns) AS waited, count(*) AS waits, count(DISTINCT w.globalTid) AS threads, max(w.ns) AS longest, p.ns AS life, w.place, w.holder,
         w.holderTid, w.tid, w.chain
  FROM GIL_WAITS AS w JOIN processes AS p ON p.process = w.globalTid >> 24 GROUP BY p.process, w.place)
SELECT k.waited, k.waits, k.threads, k.longest, 100.0 * k.waited / nullif(k.life, 0), k.pid, coalesce(k.place, '[Unknown]'), k.holder,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = k.holderTid LIMIT 1), o.place, k.tid
FROM lines AS k LEFT JOIN OSRT_PLACES AS o ON o.id = k.chain
ORDER BY k.waited DESC, k.pid, k.place
LIMIT coalesce(argument('rows'), 20);
