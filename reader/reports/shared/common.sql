-- SPDX-License-Identifier: Apache-2.0
-- Views shared by reports: events with their names, durations, and plain ids of process and thread.

CREATE TEMP VIEW API_CALLS AS
SELECT r.id, r.start, r."end", r."end" - r.start AS ns, r.globalTid, r.globalTid >> 24 & 0xffffff AS pid, r.globalTid & 0xffffff AS tid,
       r.correlationId, r.returnValue, r.callchainId, s.value AS full_name, api_name(s.value) AS name
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r LEFT JOIN StringIds AS s ON s.id = r.nameId
-- A row of class 67 repeats a call that also has its own row, to add the callchain (nsys 2021 and 2022,
-- --cudabacktrace).
WHERE r.eventClass IS NOT 67 OR NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass IS NOT 67)
UNION ALL
-- Calls of OpenCL and HSA of an imported timeline of CodeXL, as far as it has their times.
SELECT NULL, c.start, c.start + c.duration, c.duration, c.globalTid, c.globalTid >> 24 & 0xffffff, c.globalTid & 0xffffff,
       c.correlationId, c.returnValue, NULL, s.value, s.value
FROM LIBTRACE_CODEXL_CALL AS c LEFT JOIN StringIds AS s ON s.id = c.nameId
WHERE c.api = 0 AND c.parts & 2;

-- The times of the same calls alone: SQLite computes all columns of a union. The name of an id is looked up once (1:
-- names of calls).
CREATE TEMP VIEW API_TIMES AS
SELECT r."end" - r.start AS ns,
       coalesce(learned_number(1, r.nameId), learn_number(1, r.nameId, (SELECT api_name(s.value) FROM StringIds AS s WHERE s.id = r.nameId))) AS number
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
WHERE r.eventClass IS NOT 67 OR NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass IS NOT 67)
UNION ALL
SELECT c.duration, text_number(s.value)
FROM LIBTRACE_CODEXL_CALL AS c LEFT JOIN StringIds AS s ON s.id = c.nameId
WHERE c.api = 0 AND c.parts & 2;

-- Innermost line of a callchain that is Python of the program itself, not of the standard library or a package. Most
-- frames are of no such line, which the ids of their symbols tell.
CREATE TEMP VIEW PLACE_SYMBOLS AS SELECT id FROM StringIds WHERE value GLOB '*:[0-9]*)';

CREATE TEMP VIEW CUDA_PLACES AS
SELECT f.id, min(f.stackDepth), python_place(s.value, m.value) AS place
FROM CUDA_CALLCHAINS AS f CROSS JOIN StringIds AS s ON s.id = f.symbol CROSS JOIN StringIds AS m ON m.id = f.module
WHERE f.symbol IN (SELECT id FROM PLACE_SYMBOLS) AND python_place(s.value, m.value) IS NOT NULL GROUP BY f.id;

CREATE TEMP VIEW OSRT_PLACES AS
SELECT f.id, min(f.stackDepth), python_place(s.value, m.value) AS place
FROM OSRT_CALLCHAINS AS f CROSS JOIN StringIds AS s ON s.id = f.symbol CROSS JOIN StringIds AS m ON m.id = f.module
WHERE f.symbol IN (SELECT id FROM PLACE_SYMBOLS) AND python_place(s.value, m.value) IS NOT NULL GROUP BY f.id;

-- Frames that calls may be named after: not of the C library or CUDA's. Look-ups by id and depth: of a whole callchain
-- seldom more than the first frames are needed.
CREATE TEMP VIEW OSRT_OWN_FRAMES AS
SELECT f.id, f.stackDepth AS depth, f.originalIP AS ip, f.module, s.value AS name, m.value AS path, s.value NOT GLOB '0x*' AS is_named
FROM OSRT_CALLCHAINS AS f CROSS JOIN StringIds AS s ON s.id = f.symbol CROSS JOIN StringIds AS m ON m.id = f.module
WHERE m.value NOT GLOB '*/libc.so*' AND m.value NOT GLOB '*/libpthread*' AND m.value NOT GLOB '*/libc-*' AND m.value NOT GLOB '*/libcuda*'
      AND m.value NOT GLOB '*/libcupti*';

CREATE TEMP VIEW CUDA_OWN_FRAMES AS
SELECT f.id, f.stackDepth AS depth, f.originalIP AS ip, f.module, s.value AS name, m.value AS path, s.value NOT GLOB '0x*' AS is_named
FROM CUDA_CALLCHAINS AS f CROSS JOIN StringIds AS s ON s.id = f.symbol CROSS JOIN StringIds AS m ON m.id = f.module
WHERE m.value NOT GLOB '*/libc.so*' AND m.value NOT GLOB '*/libpthread*' AND m.value NOT GLOB '*/libc-*' AND m.value NOT GLOB '*/libcuda*'
      AND m.value NOT GLOB '*/libcupti*';

-- Names of shared files whose tables are already filled.
CREATE TEMP TABLE PREPARED (what TEXT PRIMARY KEY) WITHOUT ROWID;

-- One API call for each correlation id of a process, with machine and VM (a globalPid >> 24); filled by launch_calls.
CREATE TEMP TABLE LAUNCH_CALLS (pid INTEGER, correlationId INTEGER, globalTid INTEGER, start INTEGER, "end" INTEGER, nameId INTEGER,
                                PRIMARY KEY (pid, correlationId)) WITHOUT ROWID;

-- The innermost NVTX range around the launch of a kernel; filled by nvtx_launches.
CREATE TEMP TABLE LAUNCH_RANGES (kernel INTEGER PRIMARY KEY, name TEXT);

CREATE TEMP VIEW KERNELS AS
SELECT k.*, k."end" - k.start AS ns, k.globalPid >> 24 & 0xffffff AS pid,
       CASE WHEN argument('nvtx-name') THEN
         coalesce((SELECT l.name || '/' FROM LAUNCH_RANGES AS l WHERE l.kernel = k.id), '')
       ELSE '' END ||
       CASE WHEN argument('base') THEN (SELECT s.value FROM StringIds AS s WHERE s.id = k.shortName)
            WHEN argument('mangled') THEN coalesce((SELECT s.value FROM StringIds AS s WHERE s.id = k.mangledName),
                                                   (SELECT s.value FROM StringIds AS s WHERE s.id = k.demangledName))
            ELSE (SELECT s.value FROM StringIds AS s WHERE s.id = k.demangledName) END AS name
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k;

-- Kernels with the number of their name instead of it. The name of an id is looked up once (2: names of kernels).
CREATE TEMP VIEW KERNEL_NUMBERS AS
SELECT ns, gridX, gridY, gridZ, blockX, blockY, blockZ,
       CASE WHEN argument('nvtx-name') OR argument('mangled') THEN text_number(name)
            WHEN argument('base') THEN coalesce(learned_number(2, shortName), learn_number(2, shortName, name))
            ELSE coalesce(learned_number(2, demangledName), learn_number(2, demangledName, name)) END AS number
FROM KERNELS;

CREATE TEMP VIEW MEMORY_OPERATIONS AS
SELECT m.id, m.start, m."end", m."end" - m.start AS ns, m.globalPid, m.globalPid >> 24 & 0xffffff AS pid, m.deviceId, m.contextId, m.greenContextId,
       m.streamId, m.correlationId, m.bytes, m.srcKind AS source_kind, m.dstKind AS target_kind, m.copyKind AS copy_kind,
       '[CUDA memcpy ' || coalesce(l.label, m.copyKind) || ']' AS name
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS l ON l.id = m.copyKind
UNION ALL
SELECT id, start, "end", "end" - start, globalPid, globalPid >> 24 & 0xffffff, deviceId, contextId, greenContextId,
       streamId, correlationId, bytes, memKind, NULL, NULL, '[CUDA memset]'
FROM CUPTI_ACTIVITY_KIND_MEMSET;

-- SQLite computes all columns of a union, and a column that the database lacks is an error. So each union has only the
-- columns that its reports read.
CREATE TEMP VIEW GPU_OPERATIONS AS
SELECT start, "end", globalPid >> 24 AS process, deviceId, contextId FROM CUPTI_ACTIVITY_KIND_KERNEL
UNION ALL
SELECT start, "end", globalPid >> 24, deviceId, contextId FROM CUPTI_ACTIVITY_KIND_MEMCPY
UNION ALL
SELECT start, "end", globalPid >> 24, deviceId, contextId FROM CUPTI_ACTIVITY_KIND_MEMSET;

CREATE TEMP VIEW MEMORY_TIMES AS
SELECT m."end" - m.start AS ns, '[CUDA memcpy ' || coalesce(l.label, m.copyKind) || ']' AS name
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS l ON l.id = m.copyKind
UNION ALL
SELECT "end" - start, '[CUDA memset]' FROM CUPTI_ACTIVITY_KIND_MEMSET
UNION ALL
SELECT transferEnd - transferStart, '[HSA memcpy]' FROM LIBTRACE_CODEXL_CALL WHERE parts & 64 AND transferEnd >= transferStart;

CREATE TEMP VIEW MEMORY_SIZES AS
SELECT m.bytes, '[CUDA memcpy ' || coalesce(l.label, m.copyKind) || ']' AS name
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS l ON l.id = m.copyKind
UNION ALL
SELECT bytes, '[CUDA memset]' FROM CUPTI_ACTIVITY_KIND_MEMSET;

-- Categories are in the order of their names: 0 = CUDA_API, 1 = CUDA_KERNEL, 2 = MEMORY_OPER.
CREATE TEMP VIEW GPU_TIMES AS
SELECT 1 AS category, number, ns FROM KERNEL_NUMBERS
UNION ALL
SELECT 2, text_number(name), ns FROM MEMORY_TIMES;

-- Domains are numbered from 1 in each process (pid: a globalPid >> 24); 0 is the domain without a name. Filled by nvtx.
CREATE TEMP TABLE NVTX_DOMAINS (pid, domainId, name, PRIMARY KEY (pid, domainId)) WITHOUT ROWID;

CREATE TEMP VIEW NVTX_RANGES AS
SELECT e.id, e.start, e."end", e."end" - e.start AS ns, CASE WHEN e.eventType IN (59, 70) THEN 'PushPop' ELSE 'StartEnd' END AS style,
       e.globalTid, e.endGlobalTid, e.globalTid >> 24 & 0xffffff AS pid, e.globalTid & 0xffffff AS tid,
       coalesce(e.text, s.value, '') AS text, coalesce(d.name, '') || ':' || coalesce(e.text, s.value, '') AS name
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (59, 60, 70, 71) AND e."end" IS NOT NULL;

-- Input of the tables of range_sweep.h: push/pop ranges.
CREATE TEMP VIEW PUSH_POP_SWEEP AS
SELECT globalTid AS thread, start, "end", id AS range, NULL AS launch, NULL AS first, NULL AS last
FROM NVTX_EVENTS WHERE eventType IN (59, 70) AND "end" IS NOT NULL;

-- Ranges that end on the thread on which they began.
CREATE TEMP VIEW THREAD_RANGES AS
SELECT globalTid AS thread, start, "end", id AS range, NULL AS launch, NULL AS first, NULL AS last
FROM NVTX_EVENTS
WHERE eventType IN (59, 60, 70, 71) AND "end" IS NOT NULL AND globalTid IS NOT NULL AND (endGlobalTid IS NULL OR endGlobalTid = globalTid);

-- The ranges of THREAD_RANGES and the launch of each GPU operation, with the times of the operation.
CREATE TEMP VIEW PROJECTION_SWEEP AS
SELECT * FROM THREAD_RANGES
UNION ALL
SELECT c.globalTid, c.start, c."end", NULL, 0, o.start, o."end"
FROM (SELECT globalPid, correlationId, start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL
      UNION ALL
      SELECT globalPid, correlationId, start, "end" FROM CUPTI_ACTIVITY_KIND_MEMCPY
      UNION ALL
      SELECT globalPid, correlationId, start, "end" FROM CUPTI_ACTIVITY_KIND_MEMSET) AS o
     CROSS JOIN LAUNCH_CALLS AS c ON c.pid = o.globalPid >> 24 AND c.correlationId = o.correlationId;

-- The ranges of THREAD_RANGES and the launch of each kernel; a kernel whose call is not known has no thread.
CREATE TEMP VIEW KERNEL_SWEEP AS
SELECT * FROM THREAD_RANGES
UNION ALL
SELECT c.globalTid, coalesce(c.start, k.start), coalesce(c."end", k."end"), NULL, k.id, NULL, NULL
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     LEFT JOIN LAUNCH_CALLS AS c ON c.pid = k.globalPid >> 24 AND c.correlationId = k.correlationId;
