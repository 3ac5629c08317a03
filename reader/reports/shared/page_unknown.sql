-- SPDX-License-Identifier: Apache-2.0
-- Names of addresses without a function, for 'trace report --html': the file without folders and the offset in it, as
-- other profiles name them, so that two processes and two runs have the same name for the same code. Where the place
-- of the file in memory is not known (databases of nsys), the file and the address. An address that is in several
-- files keeps its own name: it has no row here.

DROP TABLE IF EXISTS temp.PAGE_UNKNOWN;
CREATE TEMP TABLE PAGE_UNKNOWN (symbol INTEGER PRIMARY KEY, text);
INSERT INTO PAGE_UNKNOWN
WITH chains AS (SELECT symbol, module, originalIP FROM OSRT_CALLCHAINS
                UNION SELECT symbol, module, originalIP FROM CUDA_CALLCHAINS
                UNION SELECT symbol, module, originalIP FROM SAMPLING_CALLCHAINS),
     -- originalIP of an interrupted instruction is 1 above its address.
     frames AS (SELECT c.symbol, c.module, s.value, replace(m.value, rtrim(m.value, replace(m.value, '/', '')), '') AS file,
                       c.originalIP - (s.value <> printf('0x%x', c.originalIP)) AS address
                FROM chains AS c
                     JOIN StringIds AS s ON s.id = c.symbol AND s.value LIKE '0x%'
                     JOIN StringIds AS m ON m.id = c.module AND m.value LIKE '%/%')
SELECT f.symbol, f.file || CASE WHEN min(f.address - l.bias) = max(f.address - l.bias) THEN printf('+0x%x', f.address - l.bias) ELSE ' ' || f.value END
FROM frames AS f
     LEFT JOIN LIBTRACE_MODULE_LOAD AS l ON l.pathId = f.module AND f.address BETWEEN l."begin" AND l."end"
GROUP BY f.symbol HAVING count(DISTINCT f.module) = 1;
