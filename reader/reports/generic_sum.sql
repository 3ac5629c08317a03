-- SPDX-License-Identifier: Apache-2.0
-- Generic Events Summary
-- columns: Count, Sum, Avg, Min, Max, Type text, Field text, Value text
-- needs: GENERIC_EVENTS GENERIC_EVENT_TYPES
-- data: generic event (--log-events)
-- arguments: rows=20

-- A field is a number if all its values are; of any other field each text has a row, the most frequent first.
WITH types AS (
  SELECT t.typeId, coalesce(s.value, CASE WHEN json_valid(t.data) THEN json_extract(t.data, '$.Name') END, t.typeId) AS name
  FROM GENERIC_EVENT_TYPES AS t LEFT JOIN StringIds AS s ON s.id = t.typeNameId),
texts AS (
  SELECT e.typeId, j.key AS field, j.value AS value
  FROM GENERIC_EVENTS AS e, json_each(CASE WHEN json_valid(e.data) THEN e.data ELSE '{}' END) AS j),
-- Databases of nsys since 2024 may have numbers in this table only.
numbers AS (
  SELECT e.typeId, s.value AS field, coalesce(d.intVal, d.uintVal, d.doubleVal, d.floatVal) AS value
  FROM GENERIC_EVENT_DATA AS d JOIN GENERIC_EVENTS AS e ON e.genericEventId = d.genericEventId
       JOIN GENERIC_EVENT_TYPE_FIELDS AS f ON f.typeId = e.typeId AND f.fieldIdx = d.fieldIdx JOIN StringIds AS s ON s.id = f.fieldNameId
  WHERE e.data IS NULL),
fields AS (SELECT * FROM texts UNION ALL SELECT * FROM numbers),
kinds AS (
  SELECT typeId, field, total(value IS NOT NULL AND CAST(value AS REAL) IS NOT value AND NOT CAST(value AS REAL) = value) = 0 AS is_number
  FROM fields GROUP BY typeId, field),
sums AS (
  SELECT count(*) AS count, sum(CASE WHEN k.is_number THEN CAST(f.value AS REAL) END) AS sum, avg(CASE WHEN k.is_number THEN CAST(f.value AS REAL) END) AS avg,
         min(CASE WHEN k.is_number THEN CAST(f.value AS REAL) END) AS min, max(CASE WHEN k.is_number THEN CAST(f.value AS REAL) END) AS max,
         f.typeId, f.field, CASE WHEN NOT k.is_number THEN f.value END AS text
  FROM fields AS f JOIN kinds AS k ON k.typeId = f.typeId AND k.field = f.field
  GROUP BY f.typeId, f.field, CASE WHEN NOT k.is_number THEN f.value END),
places AS (
  SELECT *, row_number() OVER (PARTITION BY typeId, field ORDER BY count DESC, text) AS place FROM sums)
SELECT p.count, p.sum, p.avg, p.min, p.max, coalesce(t.name, p.typeId) AS type, p.field, p.text
FROM places AS p LEFT JOIN types AS t ON t.typeId = p.typeId
WHERE place <= CAST(coalesce(argument('rows'), 20) AS INTEGER)
ORDER BY type, p.typeId, p.field, place;
