-- SPDX-License-Identifier: Apache-2.0
-- The GPU (TARGET_INFO_GPU.id) that each device number of a process is: in databases of libtrace by the rule of
-- reader/export/gpus.h. The table of nsys has the pid of a process only; in a database of libtrace two processes of a
-- merged report may have the same pid, so there a device is found by its UUID. Without rows, all numbers
-- agree; then the operations are not searched for processes.

DROP TABLE IF EXISTS temp.PROCESS_DEVICES;
CREATE TEMP TABLE PROCESS_DEVICES (process, device, gpu, PRIMARY KEY (process, device)) WITHOUT ROWID;
INSERT OR IGNORE INTO PROCESS_DEVICES
SELECT d.globalTid >> 24, d.deviceId, g.id
FROM LIBTRACE_CUDA_DEVICE AS d JOIN StringIds AS s ON s.id = d.uuidId JOIN TARGET_INFO_GPU AS g ON replace(g.uuid, '-', '') = s.value
WHERE d.globalTid IS NOT NULL AND d.deviceId IS NOT NULL AND g.id IS NOT NULL;
INSERT OR IGNORE INTO PROCESS_DEVICES
SELECT o.process, d.cudaId, d.gpuId
FROM (SELECT globalPid >> 24 AS process FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE EXISTS (SELECT 1 FROM TARGET_INFO_CUDA_DEVICE WHERE gpuId <> cudaId)
      UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE EXISTS (SELECT 1 FROM TARGET_INFO_CUDA_DEVICE WHERE gpuId <> cudaId)
      UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE EXISTS (SELECT 1 FROM TARGET_INFO_CUDA_DEVICE WHERE gpuId <> cudaId)
      UNION SELECT globalPid >> 24 FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE EXISTS (SELECT 1 FROM TARGET_INFO_CUDA_DEVICE WHERE gpuId <> cudaId)) AS o
     JOIN TARGET_INFO_CUDA_DEVICE AS d ON d.pid = o.process & 0xffffff
WHERE o.process IS NOT NULL AND d.cudaId IS NOT NULL AND d.gpuId IS NOT NULL;
