-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Launch & Exec Time Summary
-- was: kernexecsum
-- columns: PID, TID, DevId, Count, QCount
-- columns: , TAvg (ns), TMed (ns), TMin (ns), TMax (ns), TStdDev (ns)
-- columns: , AAvg (ns), AMed (ns), AMin (ns), AMax (ns), AStdDev (ns)
-- columns: , QAvg (ns), QMed (ns), QMin (ns), QMax (ns), QStdDev (ns)
-- columns: , KAvg (ns), KMed (ns), KMin (ns), KMax (ns), KStdDev (ns), API Name text, Kernel Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls
-- arguments: base mangled nvtx-name

SELECT globalTid >> 24 & 0xffffff AS pid, globalTid & 0xffffff AS tid, deviceId, count(*), count(queue_ns),
       avg(total_ns), median(total_ns), min(total_ns), max(total_ns), stddev(total_ns),
       avg(api_ns), median(api_ns), min(api_ns), max(api_ns), stddev(api_ns),
       avg(queue_ns), median(queue_ns), min(queue_ns), max(queue_ns), stddev(queue_ns),
       avg(kernel_ns), median(kernel_ns), min(kernel_ns), max(kernel_ns), stddev(kernel_ns),
       api, kernel
FROM (SELECT a.globalTid, k.deviceId, max(a."end", k."end") - a.start AS total_ns, a."end" - a.start AS api_ns,
             CASE WHEN k.start >= a."end" THEN k.start - a."end" END AS queue_ns, k.ns AS kernel_ns, api_name(s.value) AS api, k.name AS kernel
      FROM KERNELS AS k CROSS JOIN LAUNCH_CALLS AS a ON a.pid = k.globalPid >> 24 AND a.correlationId = k.correlationId
     LEFT JOIN StringIds AS s ON s.id = a.nameId)
GROUP BY globalTid, deviceId, api, kernel
ORDER BY sum(total_ns) DESC, pid, tid, deviceId, api, kernel;
