-- SPDX-License-Identifier: Apache-2.0
-- Events of graphics APIs and of Windows: those that nsys records there, and calls of Vulkan and OpenGL. A packet of a
-- WDDM queue is in it from its start to its stop.

DROP VIEW IF EXISTS temp.WDDM_PACKETS;
CREATE TEMP VIEW WDDM_PACKETS AS
SELECT s.id, 1 AS queueType, 'dma' AS queueName, s.start, e.start AS "end", s.globalTid, s.gpu, s.context, s.engineType
FROM WDDM_DMA_PACKET_START_EVENTS AS s
     JOIN WDDM_DMA_PACKET_STOP_EVENTS AS e ON e.context = s.context AND e.uliCompletionId = s.uliSubmissionId AND e.start >= s.start
UNION ALL
SELECT s.id, 0, 'queue', s.start, e.start, s.globalTid, s.gpu, s.context, s.engineType
FROM WDDM_QUEUE_PACKET_START_EVENTS AS s
     JOIN WDDM_QUEUE_PACKET_STOP_EVENTS AS e ON e.context = s.context AND e.submitSequence = s.submitSequence AND e.start >= s.start;

DROP VIEW IF EXISTS temp.GRAPHICS_EVENTS;
CREATE TEMP VIEW GRAPHICS_EVENTS AS
SELECT g.number, g.kind, g.start, coalesce(g."end", g.start) AS "end", g.globalTid, coalesce(s.value, g.text, g.kind) AS name
FROM (SELECT id << 4 AS number, 'DX12' AS kind, start, "end", globalTid, nameId, NULL AS text FROM DX12_API
      UNION ALL SELECT id << 4 | 1, 'DX12 GPU', start, "end", globalTid, nameId, NULL FROM DX12_WORKLOAD
      UNION ALL SELECT id << 4 | 2, 'Vulkan', start, "end", globalTid, nameId, NULL FROM VULKAN_API
      UNION ALL SELECT id << 4 | 3, 'Vulkan GPU', start, "end", globalTid, nameId, NULL FROM VULKAN_WORKLOAD
      UNION ALL SELECT id << 4 | 4, 'OpenGL', start, "end", globalTid, nameId, NULL FROM OPENGL_API
      UNION ALL SELECT id << 4 | 5, 'OpenGL GPU', start, "end", globalTid, nameId, NULL FROM OPENGL_WORKLOAD
      UNION ALL SELECT id << 4 | 6, 'KHR_debug', start, "end", globalTid, textId, NULL FROM KHR_DEBUG_EVENTS
      UNION ALL SELECT id << 4 | 7, 'SLI', start, "end", globalTid, NULL, 'SLI query' FROM SLI_QUERIES
      UNION ALL SELECT id << 4 | 8, 'SLI', start, "end", globalTid, NULL, coalesce('SLI transfer ' || transferFuncName, 'SLI transfer') FROM SLI_P2P
      UNION ALL SELECT id << 4 | 9, 'SLI', start, "end", globalTid, NULL, 'SLI statistics' FROM SLI_STATS
      UNION ALL SELECT id << 4 | 10, 'ETW', timestamp, until, globalTid, taskName, NULL FROM ETW_EVENTS WHERE timestamp IS NOT NULL
      UNION ALL SELECT b.id << 4 | 13, 'Vulkan', b."end", e.start, b.globalTid, b.textId, NULL
      FROM VULKAN_DEBUG_API AS b JOIN VULKAN_DEBUG_API AS e ON e.correlationId = b.correlationId AND e.globalTid = b.globalTid
      WHERE b.textId IS NOT NULL AND e.textId IS NULL
      UNION ALL SELECT id << 4 | 11 + queueType, 'WDDM', start, "end", globalTid, NULL, queueName || ' packet' FROM WDDM_PACKETS) AS g
     LEFT JOIN StringIds AS s ON s.id = g.nameId;
