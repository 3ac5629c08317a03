-- SPDX-License-Identifier: Apache-2.0
-- Memory that CUDA programs allocate: callers, allocations that failed, and what was live at a moment. Needs
-- cuda_memory_use.

-- Calls that allocate, and those that failed for lack of memory (2: cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY).
-- A launch of a graph wants what its nodes allocate. Databases of nsys do not have the bytes that these wanted.
DROP TABLE IF EXISTS temp.CUDA_ALLOCATION_CALLS;
CREATE TEMP TABLE CUDA_ALLOCATION_CALLS (process INTEGER, correlationId INTEGER, globalTid INTEGER, start INTEGER, "end" INTEGER, name TEXT, chain INTEGER,
                                         failed INTEGER, bytes INTEGER, ranges TEXT, allocator TEXT, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO CUDA_ALLOCATION_CALLS
SELECT r.globalTid >> 24, r.correlationId, r.globalTid, r.start, r."end", r.name, nullif(r.callchainId, 0), r.returnValue = 2, coalesce(nullif(f.bytes, 0), g.bytes), NULL, NULL
FROM API_CALLS AS r
     LEFT JOIN LIBTRACE_CUDA_ALLOCATION_FAILED AS f ON r.returnValue = 2 AND f.globalTid = r.globalTid AND f.correlationId = r.correlationId
     LEFT JOIN (SELECT l.process, l.correlationId, sum(n.bytes) AS bytes
                FROM CUDA_GRAPH_LAUNCHES AS l JOIN CUDA_GRAPH_MEMORY_NODES AS n ON n.process = l.process AND n.graphId = l.graphId AND n.start <= l.instantiated
                WHERE l.failed AND n.allocates
                GROUP BY l.id) AS g ON r.returnValue = 2 AND g.process = r.globalTid >> 24 AND g.correlationId = r.correlationId
WHERE r.globalTid IS NOT NULL AND r.correlationId <> 0
      AND ((r.returnValue = 2 AND (r.name LIKE '%alloc%' OR r.name LIKE 'cuMemCreate%' OR r.name LIKE 'cu%Array%Create%'
                                 OR r.name LIKE 'cu%GraphInstantiate%' OR r.name LIKE 'cu%GraphUpload%' OR r.name LIKE 'cu%GraphLaunch%'))
           OR (r.globalTid >> 24, r.correlationId) IN (SELECT process, correlationId FROM CUDA_ALLOCATIONS))
ORDER BY r.start;

-- The NVTX ranges around each call, the outermost first, and the allocator that a domain of theirs belongs to.
DROP VIEW IF EXISTS temp.CUDA_ALLOCATION_SWEEP;
CREATE TEMP VIEW CUDA_ALLOCATION_SWEEP AS
SELECT * FROM THREAD_RANGES
UNION ALL
SELECT globalTid, start, "end", NULL, correlationId, NULL, NULL FROM CUDA_ALLOCATION_CALLS;
UPDATE CUDA_ALLOCATION_CALLS SET ranges = p.path, allocator = p.allocator
FROM (SELECT thread, launch, group_concat(text, '/') AS path, max(CASE domain WHEN 'librmm' THEN 'RMM' END) AS allocator
      FROM (SELECT l.thread, l.launch, coalesce(e.text, s.value, '') AS text, d.name AS domain
            FROM range_launches('CUDA_ALLOCATION_SWEEP') AS l
                 CROSS JOIN NVTX_EVENTS AS e ON e.id = l.range
                 LEFT JOIN StringIds AS s ON s.id = e.textId
                 LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
            ORDER BY l.thread, l.launch, l.place DESC)
      GROUP BY thread, launch) AS p
WHERE p.thread = CUDA_ALLOCATION_CALLS.globalTid AND p.launch = CUDA_ALLOCATION_CALLS.correlationId;

-- Frames of these callchains, without those of CUDA's own libraries that are innermost.
DROP TABLE IF EXISTS temp.CUDA_ALLOCATION_FRAMES;
CREATE TEMP TABLE CUDA_ALLOCATION_FRAMES AS
SELECT id, depth, text FROM (
  SELECT f.id, f.stackDepth AS depth,
         coalesce((SELECT replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') || printf('+0x%x', f.originalIP - l.bias) FROM LIBTRACE_MODULE_LOAD AS l
                   WHERE s.value GLOB '0x*' AND l.pathId = f.module AND f.originalIP BETWEEN l."begin" AND l."end" LIMIT 1), s.value) AS text,
         min(CASE WHEN m.value GLOB '*/libcuda*.so*' OR m.value GLOB '*/libcupti*.so*' THEN 9999 ELSE f.stackDepth END) OVER (PARTITION BY f.id) AS first
  FROM CUDA_CALLCHAINS AS f
       JOIN StringIds AS s ON s.id = f.symbol
       LEFT JOIN StringIds AS m ON m.id = f.module
  WHERE f.id IN (SELECT chain FROM CUDA_ALLOCATION_CALLS))
WHERE depth >= first OR first = 9999
ORDER BY id, depth;

-- Callchains as texts, the innermost frame first, and the allocator that a frame belongs to.
DROP TABLE IF EXISTS temp.CUDA_ALLOCATION_CHAINS;
CREATE TEMP TABLE CUDA_ALLOCATION_CHAINS (id INTEGER PRIMARY KEY, text TEXT, allocator TEXT);
INSERT INTO CUDA_ALLOCATION_CHAINS
SELECT id, group_concat(CASE WHEN place <= 8 THEN text END, ' < '),
       max(CASE WHEN text GLOB 'c10::cuda::CUDACachingAllocator*' THEN 'PyTorch'
                WHEN text GLOB 'rmm::*' THEN 'RMM'
                WHEN text GLOB 'tsl::BFCAllocator*' OR text GLOB 'tensorflow::BFCAllocator*' THEN 'BFC'
                WHEN text GLOB '*4cupy_4cuda_6memory_*' THEN 'CuPy'
                WHEN text GLOB 'cub::*CachingDeviceAllocator*' THEN 'CUB' END)
FROM (SELECT id, text, row_number() OVER (PARTITION BY id ORDER BY depth) AS place FROM CUDA_ALLOCATION_FRAMES ORDER BY id, depth)
GROUP BY id;

-- The moment that the argument `at` names, for each process and device: its peak (the default), its last failed
-- allocation (oom), the end (what was never released), or a time in ns.
DROP TABLE IF EXISTS temp.CUDA_MEMORY_MOMENTS;
CREATE TEMP TABLE CUDA_MEMORY_MOMENTS AS
SELECT d.globalPid, d.deviceId,
       CASE coalesce(argument('at'), 'peak')
       WHEN 'peak' THEN (SELECT u.time FROM CUDA_MEMORY_USE AS u WHERE u.globalPid = d.globalPid AND u.deviceId = d.deviceId ORDER BY u.used DESC, u.time LIMIT 1)
       WHEN 'oom' THEN (SELECT max(c.start) FROM CUDA_ALLOCATION_CALLS AS c WHERE c.failed AND c.process = d.process)
       WHEN 'end' THEN 0x7fffffffffffffff
       ELSE CAST(argument('at') AS INTEGER) END AS time
FROM (SELECT DISTINCT globalPid, process, deviceId FROM CUDA_ALLOCATIONS) AS d;

-- What was live at that moment: the allocations with their calls.
DROP TABLE IF EXISTS temp.CUDA_MEMORY_LIVE;
CREATE TEMP TABLE CUDA_MEMORY_LIVE AS
SELECT a.id, m.time, a.globalPid, a.process & 0xffffff AS pid, a.deviceId, a.kind, a.bytes, a.start, c.globalTid, c.name, c.chain, c.ranges,
       coalesce(f.allocator, c.allocator, CASE WHEN a.launchId IS NOT NULL THEN 'graph' WHEN a.pool IS NOT NULL THEN 'pool' ELSE 'CUDA' END) AS allocator, f.text AS callchain
FROM CUDA_MEMORY_MOMENTS AS m
     JOIN CUDA_ALLOCATIONS AS a ON a.globalPid = m.globalPid AND a.deviceId = m.deviceId AND a.start <= m.time AND (a.released IS NULL OR a.released > m.time)
     LEFT JOIN CUDA_ALLOCATION_CALLS AS c ON c.process = a.process AND c.correlationId = a.correlationId
     LEFT JOIN CUDA_ALLOCATION_CHAINS AS f ON f.id = c.chain;
