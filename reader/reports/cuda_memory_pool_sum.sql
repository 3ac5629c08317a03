-- SPDX-License-Identifier: Apache-2.0
-- CUDA Memory Pool Summary
-- columns: PID, Device ID, Pool text, Operations, Reserved Peak Bytes, Used Peak Bytes, Unused Max Bytes, Unused Max Time (ns), Unused Max (%), Unused End Bytes
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS
-- data: CUDA memory pool

-- What a pool holds and does not use, because it keeps what was released, or because that is too scattered to be given
-- back. The percentage is of what the pool held then.
WITH operations AS (
  SELECT globalPid, coalesce(deviceId, 0) AS device, localMemoryPoolAddress AS pool, start, rowid AS id, localMemoryPoolSize AS held, localMemoryPoolUtilizedSize AS used
  FROM CUDA_GPU_MEMORY_USAGE_EVENTS
  WHERE localMemoryPoolAddress IS NOT NULL AND localMemoryPoolSize IS NOT NULL AND localMemoryPoolUtilizedSize IS NOT NULL),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY globalPid, device, pool ORDER BY held - used DESC, start, id) AS worst,
         row_number() OVER (PARTITION BY globalPid, device, pool ORDER BY start DESC, id DESC) AS latest
  FROM operations)
SELECT globalPid >> 24 & 0xffffff, device, printf('0x%llx', pool), count(*), max(held), max(used),
       max(CASE WHEN worst = 1 THEN held - used END) AS unused, max(CASE WHEN worst = 1 THEN start END),
       max(CASE WHEN worst = 1 AND held > 0 THEN 100.0 * (held - used) / held END), max(CASE WHEN latest = 1 THEN held - used END)
FROM ranked
GROUP BY globalPid, device, pool
ORDER BY unused DESC, 1, device, pool;
