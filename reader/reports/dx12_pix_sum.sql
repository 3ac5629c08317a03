-- SPDX-License-Identifier: Apache-2.0
-- DX12 PIX Range Summary
-- was: dx12pixsum
-- columns: Time (%), Total Time (ns), Instances, Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns), Range text
-- needs: D3D12_PIX_DEBUG_API
-- data: DX12 CPU debug marker

-- A range is from the end of the call that begins it to the start of the call that ends it, which has no text; both have a correlation id.
SELECT coalesce(100.0 * sum(ns) / sum(sum(ns)) OVER (), 0.0), sum(ns), count(*), avg(ns), median(ns), min(ns), max(ns), stddev(ns), name
FROM (SELECT e.start - b."end" AS ns, s.value AS name
      FROM D3D12_PIX_DEBUG_API AS b JOIN D3D12_PIX_DEBUG_API AS e ON e.correlationId = b.correlationId AND e.globalTid = b.globalTid
           LEFT JOIN StringIds AS s ON s.id = b.textId
      WHERE b.textId IS NOT NULL AND e.textId IS NULL)
GROUP BY name
HAVING sum(ns) > 0
ORDER BY 2 DESC, name;
