-- SPDX-License-Identifier: Apache-2.0
-- Kernels That the Device Waits For
-- severity: warning
-- columns: Idle Before (ns), Total Time (ns), Instances, Avg Launch (ns), Avg Queue (ns), Cause text, Device ID, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL !LIBTRACE_NCU_RESULT
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls
-- arguments: rows base mangled count (default 20)
-- advice: The device was idle before these kernels for at least half of the time that they took. Launch: from the start of the call to the kernel; queue: from its end.
-- advice: Calls come late: launch ahead of the device, without waits between launches. Launch latency: fewer and longer kernels (fusion, larger batches), or CUDA graphs.

-- Idle: nothing of the process ran on the device. It is late up to the start of the call, then it is the launch's own.
WITH work AS (
  SELECT id, start, "end", globalPid >> 24 AS process, deviceId, correlationId, name FROM KERNELS
  UNION ALL
  SELECT NULL, start, "end", globalPid >> 24, deviceId, NULL, NULL FROM CUPTI_ACTIVITY_KIND_MEMCPY
  UNION ALL
  SELECT NULL, start, "end", globalPid >> 24, deviceId, NULL, NULL FROM CUPTI_ACTIVITY_KIND_MEMSET),
gaps AS (
  SELECT *, max("end") OVER (PARTITION BY process, deviceId ORDER BY start, "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS since FROM work),
launches AS (
  SELECT g.deviceId, g.name, g."end" - g.start AS ns, max(g.start - g.since, 0) AS idle, min(max(a.start - g.since, 0), max(g.start - g.since, 0)) AS late,
         CASE WHEN g.start >= a.start THEN g.start - a.start END AS launch, CASE WHEN g.start >= a."end" THEN g.start - a."end" END AS queue
  FROM gaps AS g JOIN LAUNCH_CALLS AS a ON a.pid = g.process AND a.correlationId = g.correlationId
  WHERE g.id IS NOT NULL AND g.since IS NOT NULL)
SELECT sum(idle), sum(ns), count(*), avg(launch), avg(queue),
       CASE WHEN 2 * sum(late) >= sum(idle) THEN 'calls come late' ELSE 'launch latency' END, deviceId, name
FROM launches
GROUP BY deviceId, name
HAVING count(*) >= coalesce(argument('count'), 20) AND 2 * sum(idle) >= sum(ns)
ORDER BY sum(idle) DESC, name
LIMIT coalesce(argument('rows'), 50);
