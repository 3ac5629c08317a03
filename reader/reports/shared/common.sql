-- SPDX-License-Identifier: Apache-2.0
-- What reports share: events with their names, durations, and plain ids of process and thread.

CREATE TEMP VIEW API_CALLS AS
SELECT r.start, r."end", r."end" - r.start AS ns, r.globalTid, r.globalTid >> 24 & 0xffffff AS pid, r.globalTid & 0xffffff AS tid,
       r.correlationId, r.returnValue, r.callchainId, s.value AS full_name, api_name(s.value) AS name
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r LEFT JOIN StringIds AS s ON s.id = r.nameId;

-- The innermost NVTX range around the launch of an operation; filled by nvtx_launches.
CREATE TEMP TABLE LAUNCH_RANGES (pid, correlationId, name, PRIMARY KEY (pid, correlationId)) WITHOUT ROWID;

CREATE TEMP VIEW KERNELS AS
SELECT k.*, k."end" - k.start AS ns, k.globalPid >> 24 & 0xffffff AS pid,
       CASE WHEN argument('nvtx-name') THEN
         coalesce((SELECT l.name || '/' FROM LAUNCH_RANGES AS l
                   WHERE l.pid = k.globalPid >> 24 & 0xffffff AND l.correlationId = k.correlationId), '')
       ELSE '' END ||
       CASE WHEN argument('base') THEN short.value
            WHEN argument('mangled') THEN coalesce(mangled.value, whole.value)
            ELSE whole.value END AS name
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     LEFT JOIN StringIds AS whole ON whole.id = k.demangledName
     LEFT JOIN StringIds AS short ON short.id = k.shortName
     LEFT JOIN StringIds AS mangled ON mangled.id = k.mangledName;

CREATE TEMP VIEW MEMORY_OPERATIONS AS
SELECT m.start, m."end", m."end" - m.start AS ns, m.globalPid, m.globalPid >> 24 & 0xffffff AS pid, m.deviceId, m.contextId, m.greenContextId,
       m.streamId, m.correlationId, m.bytes, m.srcKind AS source_kind, m.dstKind AS target_kind, m.copyKind AS copy_kind,
       '[CUDA memcpy ' || coalesce(l.label, m.copyKind) || ']' AS name
FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS l ON l.id = m.copyKind
UNION ALL
SELECT start, "end", "end" - start, globalPid, globalPid >> 24 & 0xffffff, deviceId, contextId, greenContextId,
       streamId, correlationId, bytes, memKind, NULL, NULL, '[CUDA memset]'
FROM CUPTI_ACTIVITY_KIND_MEMSET;

CREATE TEMP VIEW GPU_OPERATIONS AS
SELECT start, "end", ns, pid, deviceId, contextId, correlationId, 'CUDA_KERNEL' AS category, name FROM KERNELS
UNION ALL
SELECT start, "end", ns, pid, deviceId, contextId, correlationId, 'MEMORY_OPER', name FROM MEMORY_OPERATIONS;

-- Domains count from 1 in each process, 0 is the one without a name; filled by nvtx.
CREATE TEMP TABLE NVTX_DOMAINS (pid, domainId, name, PRIMARY KEY (pid, domainId)) WITHOUT ROWID;

CREATE TEMP VIEW NVTX_RANGES AS
SELECT e.id, e.start, e."end", e."end" - e.start AS ns, CASE WHEN e.eventType IN (59, 70) THEN 'PushPop' ELSE 'StartEnd' END AS style,
       e.globalTid, e.endGlobalTid, e.globalTid >> 24 & 0xffffff AS pid, e.globalTid & 0xffffff AS tid,
       coalesce(e.text, s.value, '') AS text, coalesce(d.name, '') || ':' || coalesce(e.text, s.value, '') AS name
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 & 0xffffff AND d.domainId = e.domainId
WHERE e.eventType IN (59, 60, 70, 71) AND e."end" IS NOT NULL;
