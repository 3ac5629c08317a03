-- SPDX-License-Identifier: Apache-2.0
-- The GPU (TARGET_INFO_GPU) that each device number of a process is. The table of nsys has the pid of a process only;
-- in a database of libtrace two processes of a merged report may have the same pid, so there a device is found by its
-- UUID. `number` is the number of the GPU in all processes: that of NVML, if the GPU was sampled, else its id.

DROP TABLE IF EXISTS temp.PROCESS_DEVICES;
CREATE TEMP TABLE PROCESS_DEVICES (process, device, gpu, number, PRIMARY KEY (process, device)) WITHOUT ROWID;
INSERT OR IGNORE INTO PROCESS_DEVICES
SELECT d.globalTid >> 24, d.deviceId, g.id, coalesce(m.gpu, g.id)
FROM LIBTRACE_CUDA_DEVICE AS d JOIN StringIds AS s ON s.id = d.uuidId JOIN TARGET_INFO_GPU AS g ON replace(g.uuid, '-', '') = s.value
     LEFT JOIN (SELECT n.value AS uuid, max(l.gpu) AS gpu FROM LIBTRACE_GPU_DEVICE AS l JOIN StringIds AS n ON n.id = l.uuidId GROUP BY 1) AS m ON m.uuid = 'GPU-' || g.uuid
WHERE d.globalTid IS NOT NULL AND d.deviceId IS NOT NULL;
INSERT OR IGNORE INTO PROCESS_DEVICES
SELECT o.process, d.cudaId, d.gpuId, d.gpuId
FROM (SELECT globalPid >> 24 AS process FROM CUPTI_ACTIVITY_KIND_KERNEL UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMCPY
      UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMSET) AS o
     JOIN TARGET_INFO_CUDA_DEVICE AS d ON d.pid = o.process & 0xffffff
WHERE o.process IS NOT NULL AND d.cudaId IS NOT NULL;
