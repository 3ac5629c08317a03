-- SPDX-License-Identifier: Apache-2.0
-- Callchains of 'trace report --html' and the calls that have them, by process. `source` distinguishes callchains of the OS runtime (0)
-- and of CUDA (1).

CREATE TEMP TABLE PAGE_CHAINS AS
SELECT 0 AS source, callchainId AS chain, globalTid >> 24 AS process, sum("end" - start) AS ns, count(*) AS count
FROM OSRT_API WHERE eventClass = 27 AND callchainId > 0 AND "end" >= start AND globalTid IS NOT NULL GROUP BY chain, process
UNION ALL
SELECT 1, callchainId, globalTid >> 24, sum("end" - start), count(*)
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId > 0 AND "end" >= start AND globalTid IS NOT NULL GROUP BY callchainId, globalTid >> 24;

-- The outermost frame first.
CREATE TEMP VIEW PAGE_FRAMES AS
SELECT c.source, c.chain, c.process, c.ns, c.count, f.stackDepth, f.symbol, s.value AS text
FROM PAGE_CHAINS AS c
     JOIN (SELECT 0 AS source, id, symbol, stackDepth FROM OSRT_CALLCHAINS UNION ALL
           SELECT 1, id, symbol, stackDepth FROM CUDA_CALLCHAINS) AS f ON f.source = c.source AND f.id = c.chain
     LEFT JOIN StringIds AS s ON s.id = f.symbol;

-- Texts of frames. A function without a name is shown as the name of its file, without folders, and its address.
CREATE TEMP VIEW PAGE_TEXTS AS
SELECT s.id, CASE WHEN s.value LIKE '0x%' AND m.value LIKE '%/%'
                  THEN replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') || ' ' || s.value ELSE s.value END AS text
FROM StringIds AS s
     LEFT JOIN (SELECT symbol, CASE WHEN min(module) = max(module) THEN min(module) END AS module
                FROM (SELECT symbol, module FROM OSRT_CALLCHAINS UNION ALL SELECT symbol, module FROM CUDA_CALLCHAINS) GROUP BY symbol) AS f ON f.symbol = s.id
     LEFT JOIN StringIds AS m ON m.id = f.module;
