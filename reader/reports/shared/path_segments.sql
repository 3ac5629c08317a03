-- SPDX-License-Identifier: Apache-2.0
-- Parts of segments of the critical path with the names of their causes. Needs shared/path.sql.

DROP TABLE IF EXISTS temp.PATH_SEGMENTS;
CREATE TEMP TABLE PATH_SEGMENTS AS
SELECT s.goal, s.number, s.start, s."end", s.ns, s.kind, s.track, s.how, s.source, s.chain, s.sample, s.parts,
       CASE WHEN s.track > 0 THEN s.track >> 24 & 0xffffff ELSE t.process & 0xffffff END AS pid,
       CASE WHEN s.track > 0 THEN s.track & 0xffffff END AS tid, t.stream, r.rank, s.program,
       path_cause(s.kind, s.track, s.name, s.is_timeout, u.thing) AS cause
FROM critical_path AS s LEFT JOIN PATH_STREAMS AS t ON t.track = s.track
     LEFT JOIN PATH_RANKS AS r ON r.process = CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END
     LEFT JOIN PATH_USED AS u ON u.process = s.track >> 24 AND u.name = s.name AND u.file IS s.file AND u.object IS s.object AND u.other IS s.other AND u.function IS s.function;

-- The same with places. Parts of a segment with the same cause and place, by CPU samples, are one.
DROP VIEW IF EXISTS temp.PATH_PLACES;
CREATE TEMP VIEW PATH_PLACES AS
SELECT s.goal, s.number, s.start, s."end", s.ns, s.kind, s.track, s.source, s.chain, s.pid, s.tid, s.rank, s.program, s.stream, s.how, s.cause,
       coalesce(p.place, c.place) AS place
FROM PATH_SEGMENTS AS s LEFT JOIN PATH_CHAINS AS c ON c.source = (s.source = 1) AND c.id = s.chain LEFT JOIN PATH_SAMPLED AS p ON p.sample = s.sample
WHERE s.parts < 2
UNION ALL
SELECT s.goal, s.number, s.start, s."end", sum(s.ns), s.kind, s.track, s.source, s.chain, s.pid, s.tid, s.rank, s.program, s.stream, s.how, s.cause,
       coalesce(p.place, c.place)
FROM PATH_SEGMENTS AS s LEFT JOIN PATH_CHAINS AS c ON c.source = (s.source = 1) AND c.id = s.chain LEFT JOIN PATH_SAMPLED AS p ON p.sample = s.sample
WHERE s.parts > 1 GROUP BY s.goal, s.number, s.cause, coalesce(p.place, c.place);

-- What `trace query` shows of it.
DROP VIEW IF EXISTS temp.LIBTRACE_CRITICAL_PATH;
CREATE TEMP VIEW LIBTRACE_CRITICAL_PATH AS
SELECT goal AS pathId, number AS segment, start, "end", CAST(ns AS INTEGER) AS duration, kind, pid, tid, program, stream, cause, how AS sure, place FROM PATH_PLACES;
