-- SPDX-License-Identifier: Apache-2.0
-- WDDM Queue Utilization Summary
-- was: wddmqueuesdetails
-- columns: Utilization (%), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Name text, Q Type, Q Name text, PID, GPU ID, Context, Engine, Node Ord
-- needs: WDDM_DMA_PACKET_START_EVENTS WDDM_QUEUE_PACKET_START_EVENTS
-- data: WDDM event
-- before: graphics

-- The time in which a queue had a packet, as a part of the time from the first packet of the process to its last.
WITH packets AS (
  SELECT *, globalTid >> 24 AS process FROM WDDM_PACKETS),
ordered AS (
  SELECT *, max("end") OVER (PARTITION BY process, queueType, gpu, context, engineType ORDER BY start, "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM packets),
queues AS (
  SELECT sum(max(0, "end" - max(start, coalesce(before, start)))) AS busy, count(*) AS count, avg("end" - start) AS avg, median("end" - start) AS med,
         min("end" - start) AS min, max("end" - start) AS max, stddev("end" - start) AS stddev, queueType, queueName, process, gpu, context, engineType
  FROM ordered GROUP BY process, queueType, gpu, context, engineType),
spans AS (
  SELECT process, max("end") - min(start) AS ns FROM packets GROUP BY process),
-- As in nsys, one context has the count of all.
children AS (
  SELECT context, count(*) AS count FROM WDDM_HW_QUEUE_EVENTS),
engines (id, name) AS (
  VALUES (0, 'Other'), (1, '3D'), (2, 'Video Decode'), (3, 'Video Encode'), (4, 'Video Processing'), (5, 'Scene Assembly'), (6, 'Copy'), (7, 'Overlay'), (8, 'Crypto'))
SELECT 100.0 * q.busy / s.ns, q.count, q.avg, q.med, q.min, q.max, q.stddev,
       CASE WHEN h.context <> q.context AND q.engineType = 1 AND c.count > 2 THEN '3D/Comp'
            WHEN q.engineType <> 0 THEN e.name
            WHEN i.friendlyName <> '' THEN i.friendlyName
            ELSE 'Other' END,
       q.queueType, q.queueName, q.process & 0xffffff, q.gpu, q.context, q.engineType, coalesce(i.nodeOrdinal, 0)
FROM queues AS q JOIN spans AS s ON s.process = q.process
     LEFT JOIN TARGET_INFO_WDDM_CONTEXTS AS i ON i.context = q.context
     LEFT JOIN WDDM_HW_QUEUE_EVENTS AS h ON h.parentDxgHwQueue = q.context
     LEFT JOIN children AS c ON c.context = q.context
     LEFT JOIN engines AS e ON e.id = q.engineType
ORDER BY 1 DESC, q.process, q.queueType, q.gpu, q.context;
