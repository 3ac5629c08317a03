-- SPDX-License-Identifier: Apache-2.0
-- CUDA Kernel Occupancy
-- columns: Time (%), Total Time (ns), Instances, Occupancy (%), Limiter text, Blocks per SM, Waves, Tail (%), Avg Launch (ns), Avg Queue (ns), Reg/Trd, StcSMem (B), DymSMem (B), Local/Trd (B), DevId, GridXYZ text, BlockXYZ text, Code text, Name text
-- needs: CUPTI_ACTIVITY_KIND_KERNEL
-- data: CUDA kernel (--trace=cuda)
-- before: launch_calls kernel_occupancy
-- arguments: base mangled

-- Theoretical occupancy: part of a multiprocessor's warps that the launch can fill. Waves: blocks of the grid, by those
-- that run at once; tail: part of the last wave of the device that stays empty, of all waves. Local: bytes of a thread,
-- among them spilled registers. Code: hash of the kernel's instructions.
SELECT 100.0 * ns / nullif(sum(ns) OVER (), 0), ns, count, occupancy, limiter, active,
       CASE WHEN waves NOT NULL THEN printf('%.3f', waves) END, 100.0 * (ceil(waves) - waves) / ceil(waves),
       launch, queue, registers, static_shared, dynamic_shared, local, deviceId, CASE WHEN gridX + gridY + gridZ NOT NULL THEN printf('%4d %4d %4d', gridX, gridY, gridZ) END,
       CASE WHEN blockX + blockY + blockZ NOT NULL THEN printf('%4d %4d %4d', blockX, blockY, blockZ) END, code, name
FROM KERNEL_OCCUPANCY
ORDER BY ns DESC, name, gridX, gridY, gridZ, blockX, registers, code;
