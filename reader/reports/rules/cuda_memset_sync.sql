-- SPDX-License-Identifier: Apache-2.0
-- CUDA Synchronous Memset
-- severity: warning
-- columns: Duration (ns), Start (ns), Memory Kind text, Bytes (MB), PID, Device ID, Context ID, Green Context ID, Stream ID, API Name text
-- needs: CUPTI_ACTIVITY_KIND_MEMSET
-- data: GPU memory (--trace=cuda)
-- arguments: rows
-- advice: The host waits while this pinned or managed memory is set.
-- advice: Use cudaMemsetAsync.

SELECT m.ns, m.start, kind.label, m.bytes / 1e6, m.pid, m.deviceId, m.contextId, m.greenContextId, m.streamId,
       a.full_name || coalesce(' at ' || p.place, '')
FROM MEMORY_OPERATIONS AS m
     JOIN API_CALLS AS a ON a.correlationId = m.correlationId AND a.globalTid >> 24 = m.globalPid >> 24
     LEFT JOIN CUDA_PLACES AS p ON p.id = a.callchainId
     LEFT JOIN ENUM_CUDA_MEM_KIND AS kind ON kind.id = m.source_kind
WHERE m.copy_kind IS NULL AND a.name NOT LIKE '%Async%' AND m.source_kind IN (1, 4, 6)
ORDER BY m.ns DESC, m.start
LIMIT coalesce(argument('rows'), 50);
