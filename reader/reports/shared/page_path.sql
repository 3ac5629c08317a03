-- SPDX-License-Identifier: Apache-2.0
-- The segments of the critical path for the timeline of 'trace report --html' (timeline.sql). Cause and place of a segment with calls of functions
-- or CPU samples are those of most of its time. Needs shared/path_segments.sql.

DROP TABLE IF EXISTS temp.PAGE_PATH;
CREATE TEMP TABLE PAGE_PATH AS
SELECT row_number() OVER () AS id, s.start, s."end", CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END AS process, coalesce(s.tid, 0) AS tid,
       coalesce(t.device, 0) AS device, coalesce(t.stream, 0) AS stream, s.cause, s.how AS sure, s.place, s.source, s.chain
FROM (SELECT *, max(ns) FROM PATH_PLACES GROUP BY goal, number) AS s LEFT JOIN PATH_STREAMS AS t ON t.track = s.track;
