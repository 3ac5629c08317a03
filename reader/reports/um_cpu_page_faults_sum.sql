-- SPDX-License-Identifier: Apache-2.0
-- Unified Memory CPU Page Faults Summary
-- was: umcpupagefaults
-- columns: CPU Page Faults, CPU Instruction Address text
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS
-- data: CUDA Unified Memory CPU page faults (--cuda-unified-memory=true)

SELECT count(*), s.value
FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS AS f LEFT JOIN StringIds AS s ON s.id = f.CpuInstruction
GROUP BY s.value
ORDER BY 1 DESC, s.value;
