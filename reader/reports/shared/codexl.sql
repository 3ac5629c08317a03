-- SPDX-License-Identifier: Apache-2.0
-- Rows that 'trace export -t atp', 'csv' and 'occupancy' write, in order of their row ids: calls of each thread and
-- kernels, both in order of their start, and perf markers. Tables of calls contain only numbers, and each name is
-- stored once, because they are in a temporary file. Needs shared/devices.sql.

-- Arguments of CUDA calls, as far as they were recorded.
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
INSERT OR IGNORE INTO CODEXL_LAUNCHES
SELECT globalPid >> 24, correlationId, 'address=' || printf('0x%X', address) || ';bytes=' || bytes
FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE correlationId > 0 AND globalPid IS NOT NULL;
INSERT OR IGNORE INTO CODEXL_LAUNCHES
SELECT globalPid >> 24, correlationId,
       rtrim(CASE WHEN eventId BETWEEN 1 AND 4294967294 THEN 'event=' || eventId || ';' ELSE '' END ||
             CASE WHEN streamId BETWEEN 0 AND 4294967294 THEN 'stream=' || streamId ELSE '' END, ';')
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE correlationId > 0 AND globalPid IS NOT NULL;

-- Names of functions by source: 0 = OS runtime, 1 = CUDA.
CREATE TEMP TABLE CODEXL_NAMES (source, id, name, PRIMARY KEY (source, id)) WITHOUT ROWID;
INSERT INTO CODEXL_NAMES SELECT 1, n.nameId, api_name(s.value) FROM (SELECT DISTINCT nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME) AS n JOIN StringIds AS s ON s.id = n.nameId;
INSERT INTO CODEXL_NAMES SELECT 0, n.nameId, s.value FROM (SELECT DISTINCT nameId FROM OSRT_API WHERE eventClass = 27) AS n JOIN StringIds AS s ON s.id = n.nameId;

CREATE TEMP TABLE CODEXL_CALLS AS
SELECT c.globalTid, c.start, c."end", c.source, c.nameId, c.result, c.correlationId, c.chain, c.object
FROM (SELECT globalTid, start, "end", nameId, coalesce(returnValue, 0) AS result, correlationId, 1 AS source, coalesce(callchainId, 0) AS chain, NULL AS object
      FROM CUPTI_ACTIVITY_KIND_RUNTIME
      UNION ALL
      SELECT o.globalTid, o.start, o."end", o.nameId, coalesce(o.returnValue, 0), NULL, 0, coalesce(o.callchainId, 0), f.object
      FROM OSRT_API AS o LEFT JOIN LIBTRACE_OSRT_CALL AS f ON f.id = o.id WHERE o.eventClass = 27) AS c
WHERE c.globalTid IS NOT NULL AND EXISTS (SELECT * FROM CODEXL_NAMES AS n WHERE n.source = c.source AND n.id = c.nameId) AND c."end" >= c.start
ORDER BY c.globalTid, c.start, c."end" DESC;

-- Number of lines in the blocks of each thread.
CREATE TEMP TABLE CODEXL_LINES (globalTid PRIMARY KEY, calls, markers DEFAULT 0) WITHOUT ROWID;
INSERT INTO CODEXL_LINES (globalTid, calls) SELECT globalTid, count(*) FROM CODEXL_CALLS GROUP BY globalTid;

-- Callers: the frame that calls the function. If several frames have the name of the function, because CUDA calls are
-- nested, the caller of the outermost; if none has, the frame that calls the innermost one: frame 0 is never the
-- caller. In callchains of OS runtime calls it is the function itself, which nsys calls __poll or
-- pthread_cond_wait@@GLIBC_2; in those of CUDA calls it is a frame of NVIDIA's libraries.
CREATE TEMP TABLE CODEXL_FRAMES AS
SELECT 0 AS source, f.id, f.stackDepth, s.value AS name, p.value AS file, l.line
FROM OSRT_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol
     LEFT JOIN LIBTRACE_OSRT_CALLCHAINS AS l ON l.id = f.id AND l.stackDepth = f.stackDepth LEFT JOIN StringIds AS p ON p.id = l.fileId
UNION ALL
SELECT 1, f.id, f.stackDepth, s.value, p.value, l.line
FROM CUDA_CALLCHAINS AS f JOIN StringIds AS s ON s.id = f.symbol
     LEFT JOIN LIBTRACE_CUDA_CALLCHAINS AS l ON l.id = f.id AND l.stackDepth = f.stackDepth LEFT JOIN StringIds AS p ON p.id = l.fileId;
CREATE INDEX temp.CODEXL_FRAME ON CODEXL_FRAMES (source, id, stackDepth);
CREATE TEMP TABLE CODEXL_CALLERS (source, chain, nameId, function, file, line, PRIMARY KEY (source, chain, nameId)) WITHOUT ROWID;
INSERT INTO CODEXL_CALLERS
SELECT c.source, c.chain, c.nameId, f.name, f.file, f.line
FROM (SELECT d.*, coalesce((SELECT max(g.stackDepth) FROM CODEXL_FRAMES AS g WHERE g.source = d.source AND g.id = d.chain AND g.name = n.name), 0) AS depth
      FROM (SELECT DISTINCT source, chain, nameId FROM CODEXL_CALLS WHERE chain) AS d JOIN CODEXL_NAMES AS n ON n.source = d.source AND n.id = d.nameId) AS c
     JOIN CODEXL_FRAMES AS f ON f.source = c.source AND f.id = c.chain AND f.stackDepth =
          (SELECT min(g.stackDepth) FROM CODEXL_FRAMES AS g WHERE g.source = c.source AND g.id = c.chain AND g.stackDepth > c.depth);

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
     LEFT JOIN (SELECT * FROM TARGET_INFO_GPU GROUP BY id) AS g ON g.id = k.deviceId
WHERE k."end" >= k.start
ORDER BY k.start, k."end";

-- Push/pop ranges that do not cross other ranges of their thread. In NVTX, only ranges of one domain nest, but in the
-- file an end always ends the last begin.
CREATE TEMP TABLE CODEXL_RANGES AS
SELECT * FROM (SELECT r.id, r.globalTid, r.start, r."end", r.text, coalesce(d.name, 'Default') AS domain,
                      range_crosses(r.id, r.start, r."end") OVER (PARTITION BY r.globalTid ORDER BY r.start, r."end" DESC, r.id ROWS UNBOUNDED PRECEDING)
                      AS crosses
               FROM NVTX_RANGES AS r JOIN NVTX_EVENTS AS e ON e.id = r.id
                    LEFT JOIN NVTX_DOMAINS AS d ON d.pid = r.globalTid >> 24 AND d.domainId = e.domainId
               WHERE r.style = 'PushPop' AND r.globalTid IS NOT NULL AND r."end" >= r.start)
WHERE NOT crosses;

-- Order of markers with the same time: ends before begins, ends of inner ranges first, begins of outer ranges first.
CREATE TEMP TABLE CODEXL_MARKERS AS
SELECT globalTid, time, is_begin, text, domain FROM (
  SELECT globalTid, start AS time, 1 AS is_begin, text, domain, 1 AS place, -"end" AS other, id FROM CODEXL_RANGES
  UNION ALL
  SELECT globalTid, "end", 0, '', '', CASE WHEN "end" > start THEN 0 ELSE 2 END, -start, -id FROM CODEXL_RANGES)
ORDER BY globalTid, time, place, other, id;
INSERT INTO CODEXL_LINES (globalTid, calls, markers) SELECT globalTid, 0, count(*) FROM CODEXL_MARKERS WHERE true GROUP BY globalTid
ON CONFLICT (globalTid) DO UPDATE SET markers = excluded.markers;
