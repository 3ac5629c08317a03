-- SPDX-License-Identifier: Apache-2.0
-- Theoretical occupancy of each kind of launch, by the published rules (reader/stats/occupancy.h). Needs launch_calls.

-- Hash of a kernel's code in a process (a globalPid >> 24); NULL if modules have different code by one name (Triton and
-- CuPy): which of them a launch ran is not known.
DROP TABLE IF EXISTS temp.KERNEL_CODE;
CREATE TEMP TABLE KERNEL_CODE (process INTEGER, nameHash INTEGER, code TEXT, PRIMARY KEY (process, nameHash)) WITHOUT ROWID;
INSERT INTO KERNEL_CODE
SELECT globalTid >> 24, nameHash, CASE WHEN min(codeHash) = max(codeHash) THEN printf('%016x', min(codeHash)) END FROM LIBTRACE_CUDA_KERNEL_CODE
WHERE globalTid IS NOT NULL AND nameHash IS NOT NULL GROUP BY 1, 2;

-- A kind of launch: kernel, its code, device, grid, block, registers and memory. Launch: from the start of the call to that of
-- the kernel; queue: from the end of the call, where the kernel began later. Clusters and block barriers are not limits
-- here.
DROP TABLE IF EXISTS temp.KERNEL_OCCUPANCY;
CREATE TEMP TABLE KERNEL_OCCUPANCY AS
WITH kinds AS (
  SELECT k.deviceId, k.name, c.code, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.registersPerThread AS registers,
         k.staticSharedMemory AS static_shared, k.dynamicSharedMemory AS dynamic_shared, k.localMemoryPerThread AS local, count(*) AS count, sum(k.ns) AS ns,
         avg(CASE WHEN k.start >= a.start THEN k.start - a.start END) AS launch, avg(CASE WHEN k.start >= a."end" THEN k.start - a."end" END) AS queue,
         k.gridX * k.gridY * k.gridZ AS blocks, k.blockX * k.blockY * k.blockZ AS threads
  FROM KERNELS AS k LEFT JOIN LAUNCH_CALLS AS a ON a.pid = k.globalPid >> 24 AND a.correlationId = k.correlationId
       LEFT JOIN (SELECT id, name_hash(value) AS hash FROM StringIds WHERE id IN (SELECT mangledName FROM CUPTI_ACTIVITY_KIND_KERNEL)) AS m ON m.id = k.mangledName
       LEFT JOIN KERNEL_CODE AS c ON c.process = k.globalPid >> 24 AND c.nameHash = m.hash
  GROUP BY k.deviceId, k.name, c.code, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, k.registersPerThread, static_shared, dynamic_shared, local),
-- Processes may number devices differently; all but one device of an id are left out.
devices AS (SELECT * FROM TARGET_INFO_GPU GROUP BY id),
limits AS (
  SELECT k.*, d.smCount, d.maxWarpsPerSm, d.threadsPerWarp,
         occupancy_blocks('all', computeMajor, computeMinor, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threads, registers, static_shared + dynamic_shared) AS active,
         occupancy_blocks('registers', computeMajor, computeMinor, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threads, registers, static_shared + dynamic_shared) AS of_registers,
         occupancy_blocks('shared', computeMajor, computeMinor, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threads, registers, static_shared + dynamic_shared) AS of_shared,
         occupancy_blocks('warps', computeMajor, computeMinor, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threads, registers, static_shared + dynamic_shared) AS of_warps,
         occupancy_blocks('blocks', computeMajor, computeMinor, threadsPerWarp, maxWarpsPerSm, maxBlocksPerSm, maxRegistersPerSm, maxShmemPerSm, threads, registers, static_shared + dynamic_shared) AS of_blocks
  FROM kinds AS k LEFT JOIN devices AS d ON d.id = k.deviceId)
SELECT *, 100.0 * active * ((threads + threadsPerWarp - 1) / threadsPerWarp) / maxWarpsPerSm AS occupancy,
       nullif(ltrim(CASE WHEN of_warps = active THEN ', warps' ELSE '' END || CASE WHEN of_registers = active THEN ', registers' ELSE '' END ||
                    CASE WHEN of_shared = active THEN ', shared memory' ELSE '' END || CASE WHEN of_blocks = active THEN ', blocks' ELSE '' END, ', '), '') AS limiter,
       1.0 * blocks / nullif(active * smCount, 0) AS waves
FROM limits;
