-- SPDX-License-Identifier: Apache-2.0
-- Failed CUDA Allocations
-- columns: Time (ns), PID, TID, Requested Bytes, Live Bytes, API Name text, NVTX Range text, Callchain text
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME
-- data: failed CUDA allocation (--cuda-memory=true)
-- before: nvtx cuda_memory_use cuda_memory
-- arguments: rows

-- Live: device memory of the process on all devices at that time.
SELECT c.start, c.process & 0xffffff, c.globalTid & 0xffffff, c.bytes,
       (SELECT coalesce(sum(a.bytes), 0) FROM CUDA_ALLOCATIONS AS a
        WHERE a.process = c.process AND a.on_device AND a.start <= c.start AND (a.released IS NULL OR a.released > c.start)),
       c.name, c.ranges, f.text
FROM CUDA_ALLOCATION_CALLS AS c LEFT JOIN CUDA_ALLOCATION_CHAINS AS f ON f.id = c.chain
WHERE c.failed
ORDER BY c.start
LIMIT coalesce(argument('rows'), 50);
