-- SPDX-License-Identifier: Apache-2.0
-- Operations of the GPU, and what calls waited for.

-- `kind`: kernel, memory (copies and sets), or graph. `name`: NULL = not known.
DROP VIEW IF EXISTS temp.GPU_OPERATIONS;
CREATE TEMP VIEW GPU_OPERATIONS AS
SELECT k.globalPid >> 24 AS process, k.deviceId AS device, k.contextId AS context, k.streamId AS stream, k.start, k."end", k.correlationId AS correlation,
       'kernel' AS kind, coalesce(short.value, whole.value) AS name
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k LEFT JOIN StringIds AS short ON short.id = k.shortName LEFT JOIN StringIds AS whole ON whole.id = k.demangledName
WHERE k."end" > k.start
UNION ALL SELECT globalPid >> 24, deviceId, contextId, streamId, start, "end", correlationId, 'memory', name FROM MEMORY_OPERATIONS WHERE "end" > start
UNION ALL SELECT globalPid >> 24, deviceId, contextId, streamId, start, "end", correlationId, 'graph', 'CUDA graph ' || graphId
          FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE "end" > start;

-- Calls that waited for a stream (syncType 3) or a context (4): `stream` NULL = all of the context.
DROP VIEW IF EXISTS temp.GPU_SYNCS;
CREATE TEMP VIEW GPU_SYNCS AS
SELECT globalPid >> 24 AS process, correlationId AS correlation, contextId AS context, CASE WHEN syncType = 3 THEN streamId END AS stream
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType IN (3, 4) AND correlationId <> 0;
