-- SPDX-License-Identifier: Apache-2.0
-- CUDA Memory Pool Summary
-- columns: PID, Device ID, Pool text, Operations, Reserved Peak Bytes, Used Peak Bytes, Unused Max Bytes, Unused Max Time (ns), Unused Max (%), Unused End Bytes
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS LIBTRACE_CUDA_MAPPING
-- data: CUDA memory pool (--cuda-memory=true)
-- before: cuda_memory_use

-- What a pool holds and does not use, because it keeps what was released, or because that is too scattered to be given
-- back. The percentage is of what the pool held then. The pool of graphs is computed from launches; what it held is known
-- if the program read it (cudaDeviceGetGraphMemAttribute).
WITH operations AS (
  SELECT globalPid, coalesce(deviceId, 0) AS device, localMemoryPoolAddress AS pool, start, rowid AS id, localMemoryPoolSize AS held, localMemoryPoolUtilizedSize AS used
  FROM CUDA_GPU_MEMORY_USAGE_EVENTS
  WHERE localMemoryPoolAddress IS NOT NULL AND localMemoryPoolSize IS NOT NULL AND localMemoryPoolUtilizedSize IS NOT NULL),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY globalPid, device, pool ORDER BY held - used DESC, start, id) AS worst,
         row_number() OVER (PARTITION BY globalPid, device, pool ORDER BY start DESC, id DESC) AS latest
  FROM operations),
graphs AS (
  SELECT globalPid, deviceId, sum(change) OVER (PARTITION BY globalPid, deviceId ORDER BY time, id ROWS UNBOUNDED PRECEDING) AS used
  FROM (SELECT id, globalPid, deviceId, start AS time, bytes AS change FROM CUDA_ALLOCATIONS WHERE launchId IS NOT NULL AND on_device
        UNION ALL
        SELECT id, globalPid, deviceId, released, -bytes FROM CUDA_ALLOCATIONS WHERE launchId IS NOT NULL AND on_device AND released IS NOT NULL))
SELECT globalPid >> 24 & 0xffffff, device, printf('0x%llx', pool), count(*), max(held), max(used),
       max(CASE WHEN worst = 1 THEN held - used END) AS unused, max(CASE WHEN worst = 1 THEN start END),
       max(CASE WHEN worst = 1 AND held > 0 THEN 100.0 * (held - used) / held END), max(CASE WHEN latest = 1 THEN held - used END)
FROM ranked
GROUP BY globalPid, device, pool
UNION ALL
SELECT g.globalPid >> 24 & 0xffffff, g.deviceId, 'graphs', count(*),
       (SELECT max(m.bytes) FROM LIBTRACE_CUDA_MAPPING AS m WHERE m.operation = 17 AND m.handle IN (2, 3) AND m.globalTid >> 24 = g.globalPid >> 24 AND m.deviceId = g.deviceId),
       max(g.used), NULL, NULL, NULL, NULL
FROM graphs AS g
GROUP BY g.globalPid, g.deviceId
ORDER BY 7 DESC, 1, 2, 3;
