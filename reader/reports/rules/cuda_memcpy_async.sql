-- SPDX-License-Identifier: Apache-2.0
-- CUDA Async Memcpy with Pageable Memory
-- severity: warning
-- columns: Duration (ns), Start (ns), Src Kind text, Dst Kind text, Bytes (MB), PID, Device ID, Context ID, Green Context ID, Stream ID, API Name text
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY
-- data: CUDA memory transfers (--trace=cuda)
-- arguments: rows
-- advice: These copies were requested asynchronously, but one side is pageable memory: the driver stages them, and the call waits.
-- advice: Use pinned memory (cudaMallocHost, cudaHostRegister).

SELECT m.ns, m.start, source.label, target.label, m.bytes / 1e6, m.pid, m.deviceId, m.contextId, m.greenContextId, m.streamId,
       a.full_name || coalesce(' at ' || p.place, '')
FROM MEMORY_OPERATIONS AS m
     JOIN API_CALLS AS a ON a.correlationId = m.correlationId AND a.globalTid >> 24 = m.globalPid >> 24
     LEFT JOIN CUDA_PLACES AS p ON p.id = a.callchainId
     LEFT JOIN ENUM_CUDA_MEM_KIND AS source ON source.id = m.source_kind
     LEFT JOIN ENUM_CUDA_MEM_KIND AS target ON target.id = m.target_kind
WHERE m.copy_kind IS NOT NULL AND a.name LIKE '%Async%' AND (m.source_kind = 0 OR m.target_kind = 0)
ORDER BY m.ns DESC, m.start
LIMIT coalesce(argument('rows'), 50);
