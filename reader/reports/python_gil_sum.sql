-- SPDX-License-Identifier: Apache-2.0
-- Python GIL Summary
-- columns: Time (%), Total Time (ns), Num Waits, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), PID, TID, Name text, Holder TID, Holder Name text,
-- columns: Holder At text
-- needs: LIBTRACE_GIL_WAIT
-- data: waits for Python's GIL (--trace=osrt)
-- before: osrt gil

-- Each waiting thread, by the thread that held the GIL and the line of the program where that was.
SELECT coalesce(100.0 * sum(w.ns) / sum(sum(w.ns)) OVER (), 0.0), sum(w.ns), count(*), avg(w.ns), median(w.ns), min(w.ns), max(w.ns), stddev(w.ns), w.pid, w.tid,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = w.globalTid LIMIT 1), w.holder,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = w.holderTid LIMIT 1), w.place
FROM GIL_WAITS AS w
GROUP BY w.globalTid, w.holderTid, w.place
ORDER BY 2 DESC, 3 DESC, w.pid, w.tid, w.holder, w.place;
