-- SPDX-License-Identifier: Apache-2.0
-- The rank that enters a collective of MPI last, by how much, and what it did instead, as 'trace stats -r mpi_late_sum'
-- tables: MPI_COLLECTIVES_EVENTS LIBTRACE_MPI_COMMUNICATOR StringIds
-- optional: LIBTRACE_MERGED(globalVid host clockGroup clock:text errorEnds) LIBTRACE_MERGED_PAIR(host otherHost errorEnds)
-- optional: NVTX_EVENTS(start end eventType text:text globalTid textId domainId) CUPTI_ACTIVITY_KIND_KERNEL(start end globalPid shortName)
-- optional: OSRT_API(start end eventClass globalTid nameId callchainId) OSRT_CALLCHAINS(id symbol module stackDepth)
-- optional: LIBTRACE_REPORT(startClock)
-- before: mpi_handles mpi nvtx

-- Instead: of the time after the rank before it had entered, the NVTX range with the greatest part, the innermost of equal ones; else the kernel; else the
-- call of the OS runtime. Clock Error: how wrong the time between it and a rank of another host can be; NULL = not known.
CREATE TEMP TABLE MPI_LAST AS
WITH same AS (
  SELECT size, name, count(*) AS ranks, sum(start)::BIGINT AS sum, max(start) AS last, max(start, 2)[2] AS previous, bool_or(error IS NULL) AS unknown,
         min(clockGroup) <> max(clockGroup) AS groups, min(host) <> max(host) AS hosts,
         arg_max({'folder': folder, 'globalTid': globalTid, 'rank': rank, 'error': error}, {'start': start, 'rank': rank}) AS who
  FROM MPI_MEETINGS, ALIGNED WHERE known IS NULL
  GROUP BY membersHash, groupRoot, size, ordinal, n, name)
SELECT row_number() OVER () AS id, who.folder AS folder, who.globalTid AS globalTid, who.rank AS rank, size, name, last, previous, ranks * last - sum AS waited,
       CASE WHEN NOT hosts THEN 0 WHEN groups OR unknown THEN NULL ELSE who.error END AS error
FROM same WHERE ranks = size AND ranks > 1;

CREATE TEMP TABLE MPI_INSTEAD AS
WITH found AS (
  SELECT l.id, 0 AS kind, i.name, least(i."end", l.last) - greatest(i.start, l.previous) AS share, i.start, NULL AS folder, NULL AS nameId, NULL AS chain
  FROM NVTX_PUSH_POP AS i JOIN MPI_LAST AS l ON i.folder = l.folder AND i.globalTid = l.globalTid AND i.start <= l.last AND i."end" > l.previous
  UNION ALL
  SELECT l.id, 1, NULL, least(k."end", l.last) - greatest(k.start, l.previous), k.start, l.folder, k.shortName, NULL
  FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
       JOIN MPI_LAST AS l ON k.folder = l.folder AND k.globalPid >> 24 = l.globalTid >> 24 AND k.start <= l.last AND k."end" > l.previous
  UNION ALL
  SELECT l.id, 2, NULL, least(o."end", l.last) - greatest(o.start, l.previous), o.start, l.folder, o.nameId, nullif(o.callchainId, 0)
  FROM OSRT_API AS o
       JOIN MPI_LAST AS l ON o.folder = l.folder AND o.globalTid = l.globalTid AND o.start <= l.last AND o."end" > l.previous
  WHERE o.eventClass = 27),
best AS (
  SELECT id, arg_max({'kind': kind, 'name': name, 'folder': folder, 'nameId': nameId, 'chain': chain}, {'kind': -kind, 'share': share, 'start': start}) AS b
  FROM found GROUP BY id),
frames AS (
  SELECT f.folder, f.id, string_agg(' <- ' || s.value || CASE WHEN s.value LIKE '0x%' AND m.value LIKE '%/%' THEN ' in ' || parse_filename(m.value) ELSE '' END, ''
                                    ORDER BY f.stackDepth) AS text
  FROM (SELECT folder, id, symbol, module, stackDepth FROM OSRT_CALLCHAINS
        WHERE (folder, id) IN (SELECT (b.folder, b.chain) FROM best WHERE b.chain IS NOT NULL)
        QUALIFY row_number() OVER (PARTITION BY folder, id ORDER BY stackDepth) <= 6) AS f
       JOIN StringIds AS s ON s.folder = f.folder AND s.id = f.symbol
       LEFT JOIN StringIds AS m ON m.folder = f.folder AND m.id = f.module
  GROUP BY f.folder, f.id)
SELECT b.id, CASE b.b.kind WHEN 0 THEN 'range ' || b.b.name WHEN 1 THEN 'kernel ' || s.value ELSE 'call ' || s.value || coalesce(f.text, '') END AS text
FROM best AS b
     LEFT JOIN StringIds AS s ON s.folder = b.b.folder AND s.id = b.b.nameId
     LEFT JOIN frames AS f ON f.folder = b.b.folder AND f.id = b.b.chain;

SELECT coalesce(100.0 * sum(waited) / nullif(sum(sum(waited)) OVER (), 0), 0.0) AS "Wait (%)", sum(waited)::BIGINT AS "Total Wait (ns)", count(*) AS "Times Last",
       avg(last - previous) AS "Avg Late (ns)", max(last - previous) AS "Max Late (ns)", rank AS "Rank", size AS "Size",
       CASE WHEN count(error) = count(*) THEN max(error) END AS "Clock Error (ns)", name AS "Name", coalesce(i.text, '') AS "Instead"
FROM MPI_LAST AS l LEFT JOIN MPI_INSTEAD AS i ON i.id = l.id
GROUP BY rank, size, name, coalesce(i.text, '')
ORDER BY 2 DESC, 6, 9, 10
