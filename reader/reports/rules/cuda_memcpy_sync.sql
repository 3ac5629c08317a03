-- SPDX-License-Identifier: Apache-2.0
-- CUDA Synchronous Memcpy
-- severity: warning
-- columns: Duration (ns), Start (ns), Src Kind text, Dst Kind text, Bytes (MB), PID, Device ID, Context ID, Green Context ID, Stream ID, API Name text
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY
-- data: CUDA memory transfers (--trace=cuda)
-- arguments: rows
-- advice: The host waits for these copies. Copies within a device, and copies of at most 64 KiB to it, do not wait and are not listed.
-- advice: Use cudaMemcpyAsync with pinned memory and a stream.

SELECT m.ns, m.start, source.label, target.label, m.bytes / 1e6, m.pid, m.deviceId, m.contextId, m.greenContextId, m.streamId,
       a.full_name || coalesce(' at ' || p.place, '')
FROM MEMORY_OPERATIONS AS m
     JOIN API_CALLS AS a ON a.correlationId = m.correlationId AND a.globalTid >> 24 = m.globalPid >> 24
     LEFT JOIN CUDA_PLACES AS p ON p.id = a.callchainId
     LEFT JOIN ENUM_CUDA_MEM_KIND AS source ON source.id = m.source_kind
     LEFT JOIN ENUM_CUDA_MEM_KIND AS target ON target.id = m.target_kind
WHERE m.copy_kind IS NOT NULL AND a.name NOT LIKE '%Async%' AND m.copy_kind <> 8 AND NOT (m.copy_kind = 1 AND m.bytes <= 65536)
ORDER BY m.ns DESC, m.start
LIMIT coalesce(argument('rows'), 50);
