-- SPDX-License-Identifier: Apache-2.0
-- Unified Memory Analysis Summary
-- was: unifiedmemory
-- columns: Virtual Address text, HtoD Migration Size (MB), DtoH Migration Size (MB), CPU Page Faults, GPU Page Faults, Migration Throughput (MB/s)
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY CUDA_UM_CPU_PAGE_FAULT_EVENTS CUDA_UM_GPU_PAGE_FAULT_EVENTS
-- data: CUDA Unified Memory (--cuda-unified-memory=true)
-- arguments: rows

SELECT printf('0x%llX', address), sum(to_device) / 1e6, sum(to_host) / 1e6, sum(cpu_faults), sum(gpu_faults),
       1e3 * (coalesce(sum(to_device), 0) + coalesce(sum(to_host), 0)) / nullif(sum(ns), 0)
FROM (SELECT virtualAddress AS address, CASE copyKind WHEN 11 THEN bytes END AS to_device, CASE copyKind WHEN 12 THEN bytes END AS to_host,
             NULL AS cpu_faults, NULL AS gpu_faults, "end" - start AS ns
      FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind IN (11, 12)
      UNION ALL SELECT address, NULL, NULL, 1, NULL, NULL FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
      UNION ALL SELECT address, NULL, NULL, NULL, numberOfPageFaults, NULL FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS)
GROUP BY address
ORDER BY 6 DESC, address
LIMIT coalesce(argument('rows'), 10);
