-- SPDX-License-Identifier: Apache-2.0
-- Unified Memory Totals Summary
-- was: unifiedmemorytotals
-- columns: Total HtoD Migration Size (MB), Total DtoH Migration Size (MB), Total CPU Page Faults, Total GPU PageFaults, Minimum Virtual Address text, Maximum Virtual Address text
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY CUDA_UM_CPU_PAGE_FAULT_EVENTS CUDA_UM_GPU_PAGE_FAULT_EVENTS
-- data: CUDA Unified Memory (--cuda-unified-memory=true)

SELECT sum(CASE copyKind WHEN 11 THEN bytes END) / 1e6, sum(CASE copyKind WHEN 12 THEN bytes END) / 1e6,
       (SELECT nullif(count(*), 0) FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS), (SELECT sum(numberOfPageFaults) FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS),
       printf('0x%llX', min(virtualAddress)), printf('0x%llX', max(virtualAddress))
FROM CUPTI_ACTIVITY_KIND_MEMCPY
WHERE copyKind IN (11, 12)
GROUP BY NULL;
