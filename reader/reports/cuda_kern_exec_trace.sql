-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Launch & Exec Time Trace
-- was: kernexectrace
-- columns: API Start (ns), API Dur (ns), Queue Start (ns), Queue Dur (ns), Kernel Start (ns), Kernel Dur (ns), Total Dur (ns), PID, TID, DevId, API Function text, GridXYZ text, BlockXYZ text, Kernel Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel
-- arguments: base mangled nvtx-name

SELECT a.start, a.ns, CASE WHEN k.start > a."end" THEN a."end" END, CASE WHEN k.start > a."end" THEN k.start - a."end" END, k.start, k.ns,
       max(a."end", k."end") - a.start, k.pid, a.tid, k.deviceId, a.name, printf('%4d %4d %4d', k.gridX, k.gridY, k.gridZ),
       printf('%4d %4d %4d', k.blockX, k.blockY, k.blockZ), k.name
FROM KERNELS AS k JOIN API_CALLS AS a ON a.correlationId = k.correlationId AND a.pid = k.pid
ORDER BY a.start, a."end", a.globalTid;
