-- SPDX-License-Identifier: Apache-2.0
-- CUDA Memory Live Set
-- columns: Memory (%), Bytes, Allocations, Time (ns), PID, TID, Device ID, Kind text, Allocator text, API Name text, NVTX Range text, Callchain text
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS LIBTRACE_CUDA_MAPPING
-- data: CUDA memory usage (--cuda-memory=true)
-- before: nvtx cuda_memory_use cuda_memory
-- arguments: rows at (peak, oom, end or ns)

SELECT 100.0 * sum(l.bytes) / nullif(sum(sum(l.bytes)) OVER (PARTITION BY l.globalPid, l.deviceId), 0), sum(l.bytes), count(*),
       nullif(l.time, 0x7fffffffffffffff), l.pid, l.globalTid & 0xffffff, l.deviceId, coalesce(k.label, l.kind), l.allocator, l.name, l.ranges, l.callchain
FROM CUDA_MEMORY_LIVE AS l LEFT JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = l.kind
GROUP BY l.globalPid, l.deviceId, l.globalTid, l.kind, l.allocator, l.name, l.ranges, l.callchain
ORDER BY 2 DESC, l.globalPid, l.deviceId, l.globalTid, l.kind, l.name, l.ranges, l.callchain
LIMIT coalesce(argument('rows'), 50);
