-- What 'trace export -t atp', 'csv' and 'occupancy' write: calls of each thread in the order in which they began, kernels in that of their
-- start, perf markers. A row's number is its place.

-- What a call of CUDA did on the device, where that was recorded.
CREATE TEMP TABLE CODEXL_LAUNCHES (process, correlationId, arguments, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO CODEXL_LAUNCHES
SELECT globalPid >> 24, correlationId,
       'gridDim={' || gridX || ',' || gridY || ',' || gridZ || '};blockDim={' || blockX || ',' || blockY || ',' || blockZ || '};sharedMem=' ||
       coalesce(dynamicSharedMemory, 0) || ';stream=' || streamId
FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId > 0 AND globalPid IS NOT NULL;
INSERT OR IGNORE INTO CODEXL_LAUNCHES
SELECT globalPid >> 24, correlationId,
       'count=' || bytes || CASE WHEN copy_kind IS NULL THEN '' ELSE ';kind=' || replace(replace(name, '[CUDA memcpy ', ''), ']', '') END || ';stream=' || streamId
FROM MEMORY_OPERATIONS WHERE correlationId > 0 AND globalPid IS NOT NULL;

CREATE TEMP TABLE CODEXL_CALLS AS
SELECT c.globalTid, c.start, c."end", c.type, c.name, c.result, coalesce(l.arguments, '') AS arguments, c.source, c.chain
FROM (SELECT globalTid, start, "end", 1000 AS type, name, coalesce(returnValue, 0) AS result, correlationId, 1 AS source, coalesce(callchainId, 0) AS chain
      FROM API_CALLS
      UNION ALL
      SELECT globalTid, start, "end", 2000, name, coalesce(returnValue, 0), NULL, 0, coalesce(chain, 0) FROM OSRT_CALLS) AS c
     LEFT JOIN CODEXL_LAUNCHES AS l ON l.process = c.globalTid >> 24 AND l.correlationId = c.correlationId
WHERE c.globalTid IS NOT NULL AND c.name IS NOT NULL AND c."end" >= c.start
ORDER BY c.globalTid, c.start, c."end" DESC;

-- The thread that launched an operation.
CREATE TEMP TABLE CODEXL_THREADS (process, correlationId, tid, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO CODEXL_THREADS
SELECT globalTid >> 24, correlationId, globalTid & 0xffffff FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId > 0 AND globalTid IS NOT NULL;

CREATE TEMP TABLE CODEXL_KERNELS AS
SELECT k.start, k."end", coalesce(whole.value, short.value, '') AS name, k.demangledName AS handle, k.deviceId, k.streamId, k.correlationId,
       k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.registersPerThread AS registers,
       coalesce(k.staticSharedMemory, 0) + coalesce(k.dynamicSharedMemory, 0) AS shared, t.tid, g.name AS device,
       g.smCount, g.maxWarpsPerSm, g.maxBlocksPerSm, g.maxRegistersPerSm, g.maxShmemPerSm, g.threadsPerWarp, g.maxThreadsPerBlock, g.maxGridDimX,
       g.computeMajor, g.computeMinor
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     LEFT JOIN StringIds AS whole ON whole.id = k.demangledName
     LEFT JOIN StringIds AS short ON short.id = k.shortName
     LEFT JOIN CODEXL_THREADS AS t ON t.process = k.globalPid >> 24 AND t.correlationId = k.correlationId
     LEFT JOIN (SELECT * FROM TARGET_INFO_GPU GROUP BY id) AS g
     ON g.id = coalesce((SELECT d.gpuId FROM TARGET_INFO_CUDA_DEVICE AS d WHERE d.cudaId = k.deviceId AND d.pid = k.globalPid >> 24 & 0xffffff LIMIT 1),
                        k.deviceId)
WHERE k."end" >= k.start
ORDER BY k.start, k."end";

-- Ranges that nest in those of their thread: domains nest by themselves only, and an end is that of the last begin.
CREATE TEMP TABLE CODEXL_RANGES AS
SELECT * FROM (SELECT r.id, r.globalTid, r.start, r."end", r.text, coalesce(d.name, 'Default') AS domain,
                      range_crosses(r.id, r.start, r."end") OVER (PARTITION BY r.globalTid ORDER BY r.start, r."end" DESC, r.id ROWS UNBOUNDED PRECEDING)
                      AS crosses
               FROM NVTX_RANGES AS r JOIN NVTX_EVENTS AS e ON e.id = r.id
                    LEFT JOIN NVTX_DOMAINS AS d ON d.pid = r.pid AND d.domainId = e.domainId
               WHERE r.style = 'PushPop' AND r.globalTid IS NOT NULL AND r."end" >= r.start)
WHERE NOT crosses;

-- At one time first what ends, the inner before the outer, then what begins, the outer before the inner.
CREATE TEMP TABLE CODEXL_MARKERS AS
SELECT globalTid, time, is_begin, text, domain FROM (
  SELECT globalTid, start AS time, 1 AS is_begin, text, domain, 1 AS place, -"end" AS other, id FROM CODEXL_RANGES
  UNION ALL
  SELECT globalTid, "end", 0, '', '', CASE WHEN "end" > start THEN 0 ELSE 2 END, -start, -id FROM CODEXL_RANGES)
ORDER BY globalTid, time, place, other, id;
