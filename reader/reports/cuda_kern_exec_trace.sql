-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Launch & Exec Time Trace
-- was: kernexectrace
-- columns: API Start (ns), API Dur (ns), Queue Start (ns), Queue Dur (ns), Kernel Start (ns), Kernel Dur (ns), Total Dur (ns), PID, TID, DevId, API Function text, GridXYZ text, BlockXYZ text, Kernel Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls
-- arguments: base mangled nvtx-name

SELECT a.start, a."end" - a.start, CASE WHEN k.start >= a."end" THEN a."end" END, CASE WHEN k.start >= a."end" THEN k.start - a."end" END, k.start, k.ns,
       max(a."end", k."end") - a.start, k.pid, a.globalTid & 0xffffff, k.deviceId, api_name(s.value),
       CASE WHEN k.gridX + k.gridY + k.gridZ NOT NULL THEN printf('%4d %4d %4d', k.gridX, k.gridY, k.gridZ) END,
       CASE WHEN k.blockX + k.blockY + k.blockZ NOT NULL THEN printf('%4d %4d %4d', k.blockX, k.blockY, k.blockZ) END, k.name
FROM KERNELS AS k CROSS JOIN LAUNCH_CALLS AS a ON a.pid = k.globalPid >> 24 AND a.correlationId = k.correlationId
     LEFT JOIN StringIds AS s ON s.id = a.nameId
ORDER BY a.start, a."end", a.globalTid;
