-- SPDX-License-Identifier: Apache-2.0
-- CUDA Memory Summary
-- columns: PID, Device ID, Allocations, Releases, Peak Bytes, Peak Time (ns), Never Released Bytes, Never Released, Failed, Pinned Peak Bytes, Managed Peak Bytes, Pool Unused Max Bytes, Device Bytes
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS LIBTRACE_CUDA_MAPPING
-- data: CUDA memory usage (--cuda-memory=true)
-- before: nvtx cuda_memory_use cuda_memory

-- Allocations of all kinds; the peak and what was never released are of device memory. Pool Unused: most that a pool
-- held and did not use.
WITH kinds AS (
  SELECT globalPid, deviceId, pinned, max(used) AS peak
  FROM (SELECT globalPid, deviceId, pinned, sum(change) OVER (PARTITION BY globalPid, deviceId, pinned ORDER BY time, id ROWS UNBOUNDED PRECEDING) AS used
        FROM (SELECT id, globalPid, deviceId, kind = 1 AS pinned, start AS time, bytes AS change FROM CUDA_ALLOCATIONS WHERE kind IN (1, 4, 6)
              UNION ALL
              SELECT id, globalPid, deviceId, kind = 1, released, -bytes FROM CUDA_ALLOCATIONS WHERE kind IN (1, 4, 6) AND released IS NOT NULL))
  GROUP BY globalPid, deviceId, pinned),
pools AS (
  SELECT globalPid, coalesce(deviceId, 0) AS deviceId, max(localMemoryPoolSize - localMemoryPoolUtilizedSize) AS unused
  FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE localMemoryPoolAddress IS NOT NULL GROUP BY 1, 2),
peaks AS (
  SELECT globalPid, deviceId, time, used, row_number() OVER (PARTITION BY globalPid, deviceId ORDER BY used DESC, time) AS place FROM CUDA_MEMORY_USE)
SELECT a.process & 0xffffff, a.deviceId, count(*), count(a.released), p.used, p.time,
       coalesce(sum(CASE WHEN a.on_device AND a.released IS NULL THEN a.bytes END), 0), count(CASE WHEN a.on_device AND a.released IS NULL THEN 1 END),
       (SELECT count(*) FROM CUDA_ALLOCATION_CALLS AS c WHERE c.process = a.process AND c.failed),
       (SELECT peak FROM kinds AS k WHERE k.globalPid = a.globalPid AND k.deviceId = a.deviceId AND k.pinned),
       (SELECT peak FROM kinds AS k WHERE k.globalPid = a.globalPid AND k.deviceId = a.deviceId AND NOT k.pinned),
       (SELECT unused FROM pools AS o WHERE o.globalPid = a.globalPid AND o.deviceId = a.deviceId),
       (SELECT max(totalMemory) FROM TARGET_INFO_GPU AS g WHERE g.id = a.deviceId)
FROM CUDA_ALLOCATIONS AS a
     LEFT JOIN peaks AS p ON p.globalPid = a.globalPid AND p.deviceId = a.deviceId AND p.place = 1
GROUP BY a.globalPid, a.deviceId
ORDER BY p.used DESC, a.process & 0xffffff, a.deviceId;
