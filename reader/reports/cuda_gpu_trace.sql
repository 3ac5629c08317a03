-- SPDX-License-Identifier: Apache-2.0
-- CUDA GPU Trace
-- was: gputrace
-- columns: Start (ns), Duration (ns), CorrId, GrdX, GrdY, GrdZ, BlkX, BlkY, BlkZ, Reg/Trd, StcSMem (MB), DymSMem (MB), Bytes (MB), Throughput (MB/s), SrcMemKd text, DstMemKd text, Device text, Ctx, GreenCtx, Strm, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET
-- data: CUDA trace (--trace=cuda)
-- arguments: base mangled nvtx-name

SELECT o.start, o.ns, o.correlationId, o.gridX, o.gridY, o.gridZ, o.blockX, o.blockY, o.blockZ, o.registersPerThread,
       o.staticSharedMemory / 1e6, o.dynamicSharedMemory / 1e6, o.bytes / 1e6,
       -- the reciprocal is truncated to a whole number first, as in nsys
       o.bytes * (1000000000 / nullif(o.ns, 0)) / 1e6,
       source.label, target.label,
       ltrim(coalesce((SELECT g.name FROM TARGET_INFO_GPU AS g WHERE g.id = o.deviceId LIMIT 1), '') || ' (' || o.deviceId || ')'),
       o.contextId, o.greenContextId, o.streamId, o.name
FROM (SELECT start, ns, correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
             staticSharedMemory, dynamicSharedMemory, NULL AS bytes, NULL AS source_kind, NULL AS target_kind, deviceId, contextId, greenContextId, streamId, name
      FROM KERNELS
      UNION ALL
      SELECT start, ns, correlationId, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bytes, source_kind, target_kind,
             deviceId, contextId, greenContextId, streamId, name
      FROM MEMORY_OPERATIONS) AS o
     LEFT JOIN ENUM_CUDA_MEM_KIND AS source ON source.id = o.source_kind
     LEFT JOIN ENUM_CUDA_MEM_KIND AS target ON target.id = o.target_kind
ORDER BY o.start, o.ns, o.correlationId;
