-- SPDX-License-Identifier: Apache-2.0
-- The segments of the critical path for the timeline of 'trace report --html' (timeline.sql). The place of a segment with CPU samples is that of
-- most of them. Needs shared/path_segments.sql.

DROP TABLE IF EXISTS temp.PAGE_PATH;
CREATE TEMP TABLE PAGE_PATH AS
SELECT row_number() OVER () AS id, s.start, s."end", CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END AS process, coalesce(s.tid, 0) AS tid,
       coalesce(t.device, 0) AS device, coalesce(t.stream, 0) AS stream, s.cause, s.how AS sure, coalesce(p.place, c.place) AS place, s.source, s.chain
FROM PATH_SEGMENTS AS s LEFT JOIN PATH_STREAMS AS t ON t.track = s.track
     LEFT JOIN PATH_CHAINS AS c ON c.source = (s.source = 1) AND c.id = s.chain
     LEFT JOIN (SELECT segment, place, max(part) FROM PATH_SAMPLES GROUP BY segment) AS p ON p.segment = s.rowid;
