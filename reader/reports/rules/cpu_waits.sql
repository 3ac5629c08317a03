-- SPDX-License-Identifier: Apache-2.0
-- Threads Waiting for CPUs
-- severity: warning
-- columns: Waited (ns), Share (%), Running (ns), PID, TID, Thread Name text, CPUs, Used by All Threads (%)
-- needs: LIBTRACE_THREAD_TIME
-- data: threads' counters (--thread-time=process-tree)
-- before: osrt thread_time
-- arguments: rows
-- advice: These threads waited for a CPU for at least 20 % of the time that they could have run, and at least 100 ms.
-- advice: If the recorded programs used most of the CPUs, use fewer threads. Otherwise, other programs used the CPUs, or a limit (a container's quota, an affinity mask) keeps the threads off them.

WITH cpus AS MATERIALIZED (SELECT max(1, value + 0) AS count FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CpuCores' LIMIT 1),
whole AS MATERIALIZED (SELECT sum(cpu) AS cpu, max("end") - min(start) AS ns FROM THREAD_ACCOUNT)
SELECT CAST(a.runnable AS INTEGER), 100.0 * a.runnable / (a.cpu + a.runnable), a.cpu, a.pid, a.tid,
       (SELECT n.name FROM THREAD_NAMES AS n WHERE n.globalTid = a.globalTid LIMIT 1), c.count, 100.0 * w.cpu / (w.ns * c.count)
FROM THREAD_ACCOUNT AS a JOIN whole AS w LEFT JOIN cpus AS c
WHERE a.runnable >= 100000000 AND 5 * a.runnable >= a.cpu + a.runnable
ORDER BY a.runnable DESC, a.pid, a.tid
LIMIT coalesce(argument('rows'), 20);
