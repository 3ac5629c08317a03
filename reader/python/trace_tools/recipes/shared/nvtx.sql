-- SPDX-License-Identifier: Apache-2.0
-- Push/pop ranges of NVTX with the names that the statistics print: domain:text.

CREATE VIEW NVTX_PUSH_POP AS
WITH domains AS (
  SELECT e.folder, e.globalTid >> 24 AS process, e.domainId, any_value(coalesce(e.text, s.value)) AS name
  FROM NVTX_EVENTS AS e LEFT JOIN StringIds AS s ON s.folder = e.folder AND s.id = e.textId
  WHERE e.eventType = 75 AND e.domainId <> 0 GROUP BY ALL)
SELECT e.folder, e.globalTid, e.start, e."end", coalesce(d.name, '') || ':' || coalesce(e.text, s.value, '') AS name
FROM NVTX_EVENTS AS e
     LEFT JOIN StringIds AS s ON s.folder = e.folder AND s.id = e.textId
     LEFT JOIN domains AS d ON d.folder = e.folder AND d.process = e.globalTid >> 24 AND d.domainId = e.domainId
WHERE e.eventType IN (59, 70) AND e."end" IS NOT NULL;
