-- SPDX-License-Identifier: Apache-2.0
-- Generic Events Summary
-- columns: Count, Sum, Avg, Min, Max, Type text, Field text
-- needs: GENERIC_EVENTS GENERIC_EVENT_TYPES
-- data: generic event

WITH types AS (
  SELECT typeId, coalesce(CASE WHEN json_valid(data) THEN json_extract(data, '$.Name') END, typeId) AS name FROM GENERIC_EVENT_TYPES),
fields AS (
  SELECT e.typeId, j.key AS field, CAST(j.value AS REAL) AS value
  FROM GENERIC_EVENTS AS e, json_each(CASE WHEN json_valid(e.data) THEN e.data ELSE '{}' END) AS j)
SELECT count(*), sum(value), avg(value), min(value), max(value), coalesce(t.name, f.typeId), f.field
FROM fields AS f LEFT JOIN types AS t ON t.typeId = f.typeId
GROUP BY f.typeId, f.field
ORDER BY 6, 7;
