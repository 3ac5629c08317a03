-- SPDX-License-Identifier: Apache-2.0
-- Segments of the critical path with the names of their causes. Needs shared/path.sql.

DROP TABLE IF EXISTS temp.PATH_SEGMENTS;
CREATE TEMP TABLE PATH_SEGMENTS AS
SELECT s.goal, s.number, s.start, s."end", s."end" - s.start AS ns, s.kind, s.track, s.how, s.source, s.chain, s.gap_start, s.gap_end,
       CASE WHEN s.track > 0 THEN s.track >> 24 & 0xffffff ELSE t.process & 0xffffff END AS pid,
       CASE WHEN s.track > 0 THEN s.track & 0xffffff END AS tid, t.stream, r.rank,
       path_cause(s.kind, s.track, s.name, s.is_timeout) AS cause
FROM critical_path AS s LEFT JOIN PATH_STREAMS AS t ON t.track = s.track
     LEFT JOIN PATH_RANKS AS r ON r.process = CASE WHEN s.track > 0 THEN s.track >> 24 ELSE t.process END;

-- Places of CPU samples in the segments, and their parts of them.
DROP TABLE IF EXISTS temp.PATH_SAMPLES;
CREATE TEMP TABLE PATH_SAMPLES AS
WITH found AS MATERIALIZED (
  SELECT s.rowid AS segment, p.place, sum(coalesce(l.cpuTime, 1)) AS weight
  FROM PATH_SEGMENTS AS s JOIN COMPOSITE_EVENTS AS c ON c.globalTid = s.track AND c.start > s.gap_start AND c.start <= s.gap_end
       LEFT JOIN LIBTRACE_CPU_SAMPLE AS l ON l.id = c.id LEFT JOIN PATH_SAMPLED AS p ON p.sample = c.id
  WHERE s.kind = 'between' AND coalesce(l.cpuTime, 1) > 0 GROUP BY s.rowid, p.place)
SELECT segment, place, 1.0 * weight / sum(weight) OVER (PARTITION BY segment) AS part FROM found;
CREATE INDEX temp.PATH_SAMPLES_ORDER ON PATH_SAMPLES (segment);

DROP VIEW IF EXISTS temp.PATH_PLACES;
CREATE TEMP VIEW PATH_PLACES AS
SELECT s.goal, s.number, s.start, s."end", s.ns * coalesce(p.part, 1) AS ns, s.kind, s.pid, s.tid, s.rank, s.stream, s.how, s.cause,
       coalesce(p.place, c.place) AS place
FROM PATH_SEGMENTS AS s LEFT JOIN PATH_CHAINS AS c ON c.source = (s.source = 1) AND c.id = s.chain LEFT JOIN PATH_SAMPLES AS p ON p.segment = s.rowid;

-- What `trace query` shows of it.
DROP VIEW IF EXISTS temp.LIBTRACE_CRITICAL_PATH;
CREATE TEMP VIEW LIBTRACE_CRITICAL_PATH AS
SELECT goal AS pathId, number AS segment, start, "end", CAST(ns AS INTEGER) AS duration, kind, pid, tid, stream, cause, how AS sure, place FROM PATH_PLACES;
