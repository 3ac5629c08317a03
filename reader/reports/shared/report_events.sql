-- SPDX-License-Identifier: Apache-2.0
-- The events of a database as rows of the events of reports (common/schema/events.def), for everything that reads
-- reports. The name of the first column is the kind of event; the other columns are named as in events.def. process:
-- globalPid >> 24. callchain: four times the id in OSRT_CALLCHAINS, in CUDA_CALLCHAINS plus 1, or in
-- SAMPLING_CALLCHAINS plus 2. A duration of NULL: the event did not end. Rows are in order of their start.

SELECT 0 AS osrt_call, globalTid >> 24 AS process, tid, start AS start_ns, ns AS duration_ns, name AS function, returnValue AS return_value,
       object, holder AS holder_tid, chain * 4 AS callchain
FROM OSRT_CALLS ORDER BY start;

SELECT 0 AS cpu_sample, c.globalTid >> 24 AS process, c.globalTid & 0xffffff AS tid, c.start AS time_ns, c.cpu, c.cpuCycles AS periods,
       l.cpuTime AS cpu_time_ns, c.id * 4 + 2 AS callchain
FROM COMPOSITE_EVENTS AS c LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id
WHERE c.globalTid IS NOT NULL ORDER BY c.start;

-- nsys does not say how a switch came about, nor before schema 3.13 whether the thread ended.
SELECT 0 AS sched_switch, e.globalTid >> 24 AS process, e.globalTid & 0xffffff AS tid, e.start AS time_ns, e.cpu, e.isSchedIn <> 0 AS is_in,
       e.threadState AS state, l.how
FROM SCHED_EVENTS AS e LEFT JOIN LIBTRACE_SCHED_SWITCH AS l ON l.id = e.id
WHERE e.globalTid IS NOT NULL ORDER BY e.start, e.id;

SELECT 0 AS nvtx_range, e.globalTid >> 24 AS process, e.globalTid & 0xffffff AS tid, e.start AS start_ns, e."end" - e.start AS duration_ns,
       d.name AS domain, coalesce(e.text, s.value) AS text, e.category, e.color & 0xffffffff AS color,
       CASE WHEN e.uint64Value IS NOT NULL THEN 1 WHEN e.int64Value IS NOT NULL THEN 2 WHEN e.doubleValue IS NOT NULL THEN 3
            WHEN e.uint32Value IS NOT NULL THEN 4 WHEN e.int32Value IS NOT NULL THEN 5 WHEN e.floatValue IS NOT NULL THEN 6 END AS payload_type,
       coalesce(e.uint64Value, e.int64Value, e.doubleValue, e.uint32Value, e.int32Value, e.floatValue) AS payload,
       CASE WHEN e.text IS NULL AND e.textId IS NOT NULL THEN 16 ELSE 0 END AS flags
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (59, 70) ORDER BY e.start, e."end" DESC;

SELECT 0 AS nvtx_start_end, e.globalTid >> 24 AS process, coalesce(e.endGlobalTid, e.globalTid) & 0xffffff AS tid, e.start AS start_ns,
       e."end" - e.start AS duration_ns, d.name AS domain, coalesce(e.text, s.value) AS text, e.category, e.color & 0xffffffff AS color,
       CASE WHEN e.uint64Value IS NOT NULL THEN 1 WHEN e.int64Value IS NOT NULL THEN 2 WHEN e.doubleValue IS NOT NULL THEN 3
            WHEN e.uint32Value IS NOT NULL THEN 4 WHEN e.int32Value IS NOT NULL THEN 5 WHEN e.floatValue IS NOT NULL THEN 6 END AS payload_type,
       coalesce(e.uint64Value, e.int64Value, e.doubleValue, e.uint32Value, e.int32Value, e.floatValue) AS payload,
       e.rangeId AS range_id, e.globalTid & 0xffffff AS start_tid, CASE WHEN e.text IS NULL AND e.textId IS NOT NULL THEN 16 ELSE 0 END AS flags
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (60, 71) ORDER BY e.start;

SELECT 0 AS nvtx_mark, e.globalTid >> 24 AS process, e.globalTid & 0xffffff AS tid, e.start AS time_ns, d.name AS domain,
       coalesce(e.text, s.value) AS text, e.category, e.color & 0xffffffff AS color,
       CASE WHEN e.uint64Value IS NOT NULL THEN 1 WHEN e.int64Value IS NOT NULL THEN 2 WHEN e.doubleValue IS NOT NULL THEN 3
            WHEN e.uint32Value IS NOT NULL THEN 4 WHEN e.int32Value IS NOT NULL THEN 5 WHEN e.floatValue IS NOT NULL THEN 6 END AS payload_type,
       coalesce(e.uint64Value, e.int64Value, e.doubleValue, e.uint32Value, e.int32Value, e.floatValue) AS payload,
       CASE WHEN e.text IS NULL AND e.textId IS NOT NULL THEN 16 ELSE 0 END AS flags
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.id = e.textId
     LEFT JOIN NVTX_DOMAINS AS d ON d.pid = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (34, 69) ORDER BY e.start;

-- Reports have no kind for calls of MPI, OpenACC and OpenMP: they become NVTX ranges in domains of these names.
SELECT 0 AS nvtx_range, m.globalTid >> 24 AS process, m.globalTid & 0xffffff AS tid, m.start AS start_ns, m."end" - m.start AS duration_ns,
       m.domain, s.value AS text
FROM (SELECT 'MPI' AS domain, start, "end", globalTid, textId FROM MPI_P2P_EVENTS
      UNION ALL SELECT 'MPI', start, "end", globalTid, textId FROM MPI_COLLECTIVES_EVENTS
      UNION ALL SELECT 'MPI', start, "end", globalTid, textId FROM MPI_START_WAIT_EVENTS
      UNION ALL SELECT 'MPI', start, "end", globalTid, textId FROM MPI_OTHER_EVENTS
      UNION ALL SELECT 'OpenACC', start, "end", globalTid, nameId FROM CUPTI_ACTIVITY_KIND_OPENACC_DATA
      UNION ALL SELECT 'OpenACC', start, "end", globalTid, nameId FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH
      UNION ALL SELECT 'OpenACC', start, "end", globalTid, nameId FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_PARALLEL
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_SYNC_REGION
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_SYNC_REGION_WAIT
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_CRITICAL_SECTION
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_MUTEX_WAIT
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_MASTER
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_REDUCTION
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_TASK
      UNION ALL SELECT 'OpenMP', start, "end", globalTid, nameId FROM OPENMP_EVENT_KIND_WORKSHARE) AS m
     LEFT JOIN StringIds AS s ON s.id = m.textId
ORDER BY m.start, m."end" DESC;

-- Likewise the events of graphics APIs and of Windows. Those that a GPU or the system did may belong to no thread.
SELECT 0 AS nvtx_range, globalTid >> 24 AS process, globalTid & 0xffffff AS tid, start AS start_ns, "end" - start AS duration_ns, kind AS domain, name AS text
FROM GRAPHICS_EVENTS WHERE globalTid IS NOT NULL AND kind IN ('DX12', 'Vulkan', 'OpenGL', 'KHR_debug') ORDER BY start, "end" DESC;

-- These may overlap each other.
SELECT 0 AS nvtx_start_end, coalesce(globalTid, 0) >> 24 AS process, coalesce(globalTid, 0) & 0xffffff AS tid, start AS start_ns, "end" - start AS duration_ns,
       kind AS domain, name AS text, -number AS range_id, coalesce(globalTid, 0) & 0xffffff AS start_tid
FROM GRAPHICS_EVENTS WHERE kind NOT IN ('DX12', 'Vulkan', 'OpenGL', 'KHR_debug') ORDER BY start;

SELECT 0 AS cuda_api, c.globalTid >> 24 AS process, c.tid, c.start AS start_ns, c.ns AS duration_ns, c.full_name AS function,
       c.returnValue AS return_value, c.correlationId AS correlation_id, c.full_name GLOB 'cu[A-Z]*' AS api,
       nullif(c.callchainId, 0) * 4 + 1 AS callchain
FROM API_CALLS AS c ORDER BY c.start, c."end" DESC;

SELECT 0 AS cuda_kernel, k.globalPid >> 24 AS process, 0 AS tid, k.start AS start_ns, k."end" - k.start AS duration_ns,
       coalesce(whole.value, mangled.value, short.value) AS name, k.deviceId AS device_id, k.contextId AS context_id, k.streamId AS stream_id,
       k.correlationId AS correlation_id, k.gridX AS grid_x, k.gridY AS grid_y, k.gridZ AS grid_z, k.blockX AS block_x, k.blockY AS block_y,
       k.blockZ AS block_z, k.staticSharedMemory AS static_shared_memory, k.dynamicSharedMemory AS dynamic_shared_memory,
       k.sharedMemoryExecuted AS shared_memory_executed, k.registersPerThread AS registers_per_thread,
       k.localMemoryPerThread AS local_memory_per_thread, k.localMemoryTotal AS local_memory_total, k.gridId AS grid_id,
       max(k.launchType - 1, 0) AS launch_type, k.cacheConfig AS cache_config_executed, k.graphNodeId AS graph_node_id, k.graphId AS graph_id,
       k.sharedMemoryLimitConfig AS shared_memory_limit_config, k.clusterX AS cluster_x, k.clusterY AS cluster_y, k.clusterZ AS cluster_z,
       k.clusterSchedulingPolicy AS cluster_scheduling_policy, k.maxPotentialClusterSize AS max_potential_cluster_size,
       k.maxActiveClusters AS max_active_clusters, k.sharedMemoryRequestedPercentage + 1 AS shared_memory_carveout
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     LEFT JOIN StringIds AS whole ON whole.id = k.demangledName
     LEFT JOIN StringIds AS short ON short.id = k.shortName
     LEFT JOIN StringIds AS mangled ON mangled.id = k.mangledName
ORDER BY k.start;

SELECT 0 AS cuda_memcpy, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns, deviceId AS device_id,
       contextId AS context_id, streamId AS stream_id, correlationId AS correlation_id, bytes, copyKind AS copy_kind,
       srcKind + 1 & 7 AS src_kind, dstKind + 1 & 7 AS dst_kind, graphNodeId AS graph_node_id,
       srcDeviceId IS NOT NULL AND dstDeviceId IS NOT NULL AS is_peer, srcDeviceId AS src_device_id, srcContextId AS src_context_id,
       dstDeviceId AS dst_device_id, dstContextId AS dst_context_id, copyCount AS copy_count
FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind NOT IN (11, 12, 13) ORDER BY start;

SELECT 0 AS cuda_memset, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns, deviceId AS device_id,
       contextId AS context_id, streamId AS stream_id, correlationId AS correlation_id, bytes, value,
       memKind + 1 & 7 AS memory_kind, graphNodeId AS graph_node_id
FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY start;

-- Before schema 3.17 nsys numbered waits in its own way; newer databases have a column deprecatedSyncType.
SELECT 0 AS cuda_sync, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns, contextId AS context_id,
       streamId & 0xffffffff AS stream_id, correlationId AS correlation_id,
       CASE WHEN argument('new-waits') THEN syncType WHEN syncType = 1 THEN 4 WHEN syncType = 2 THEN 1 ELSE syncType END AS sync_type,
       eventId & 0xffffffff AS event_id, eventSyncId AS event_sync_id
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ORDER BY start;

SELECT 0 AS cuda_graph_trace, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns, deviceId AS device_id,
       contextId AS context_id, streamId AS stream_id, correlationId AS correlation_id, graphExecId AS graph_id
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE ORDER BY start;

SELECT 0 AS cuda_unified_memory, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns,
       CASE copyKind WHEN 11 THEN 1 WHEN 12 THEN 2 ELSE 8 END AS counter_kind, bytes AS value, virtualAddress AS address,
       CASE copyKind WHEN 12 THEN deviceId ELSE 0 END AS src_id, CASE copyKind WHEN 12 THEN 0 ELSE deviceId END AS dst_id,
       migrationCause AS flags
FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind IN (11, 12, 13) ORDER BY start;

SELECT 0 AS cuda_unified_memory, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, 0 AS duration_ns, 3 AS counter_kind, 1 AS value, address
FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS ORDER BY start;

SELECT 0 AS cuda_unified_memory, globalPid >> 24 AS process, 0 AS tid, start AS start_ns, "end" - start AS duration_ns, 4 AS counter_kind,
       numberOfPageFaults AS value, address, deviceId AS src_id
FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS ORDER BY start;

SELECT 0 AS cuda_memory, globalPid >> 24 AS process, 0 AS tid, start AS time_ns, memoryOperationType + 1 AS operation,
       memKind + 1 & 7 AS memory_kind, correlationId AS correlation_id, address, bytes, deviceId AS device_id,
       contextId AS context_id, streamId & 0xffffffff AS stream_id
FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memoryOperationType IN (0, 1) ORDER BY start;

SELECT 0 AS cuda_overhead, globalTid >> 24 AS process, globalTid & 0xffffff AS tid, start AS start_ns, "end" - start AS duration_ns,
       CASE WHEN overheadType = 2 THEN 1 ELSE (overheadType - 2) << 16 END AS overhead_kind
FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType BETWEEN 2 AND 8 ORDER BY start;

-- The devices of each process that used one.
SELECT 0 AS cuda_device, p.process, 0 AS tid, 0 AS time_ns, coalesce(c.device, g.id) AS device_id, g.name, lower(replace(g.uuid, '-', '')) AS uuid,
       g.memoryBandwidth / 1000 AS global_memory_bandwidth, g.totalMemory AS global_memory_size, g.constantMemory AS constant_memory_size,
       g.l2CacheSize AS l2_cache_size, g.threadsPerWarp AS threads_per_warp, g.clockRate / 1000 AS core_clock_rate,
       g.asyncEngines AS memcpy_engines, g.smCount AS multiprocessors, g.maxIPC AS max_ipc, g.maxWarpsPerSm AS max_warps_per_multiprocessor,
       g.maxBlocksPerSm AS max_blocks_per_multiprocessor, g.maxShmemPerSm AS max_shared_memory_per_multiprocessor,
       g.maxRegistersPerSm AS max_registers_per_multiprocessor, g.maxRegistersPerBlock AS max_registers_per_block,
       g.maxShmemPerBlock AS max_shared_memory_per_block, g.maxThreadsPerBlock AS max_threads_per_block,
       g.computeMajor AS compute_capability_major, g.computeMinor AS compute_capability_minor
FROM (SELECT globalPid >> 24 AS process FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid IS NOT NULL
      UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid IS NOT NULL
      UNION SELECT globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE globalPid IS NOT NULL
      UNION SELECT globalPid >> 24 FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE globalPid IS NOT NULL) AS p
     CROSS JOIN TARGET_INFO_GPU AS g
     LEFT JOIN PROCESS_DEVICES AS c ON c.gpu = g.id AND c.process = p.process
WHERE c.gpu IS NOT NULL OR p.process NOT IN (SELECT process FROM PROCESS_DEVICES);

-- The numbers of GPUs, which nsys knows as NVML does.
SELECT 0 AS gpu_device, p.process, 0 AS tid, 0 AS time_ns, g.id AS gpu, g.name, 'GPU-' || lower(g.uuid) AS uuid
FROM (SELECT min(globalPid >> 24) AS process FROM PROCESSES) AS p CROSS JOIN TARGET_INFO_GPU AS g
WHERE p.process IS NOT NULL AND g.id IS NOT NULL AND g.uuid IS NOT NULL;

SELECT 0 AS thread_name, t.globalTid >> 24 AS process, t.globalTid & 0xffffff AS tid, 0 AS time_ns, s.value AS name
FROM ThreadNames AS t JOIN StringIds AS s ON s.id = t.nameId
WHERE t.globalTid IS NOT NULL ORDER BY t.priority;
