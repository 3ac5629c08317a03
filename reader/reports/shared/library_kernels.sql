-- SPDX-License-Identifier: Apache-2.0
-- Calls of the libraries of libraries.def, and the kernels that were launched while they were open in their thread.
-- Databases of nsys have calls of cuBLAS (1) and cuDNN (2) only, without arguments. Needs launch_calls.

CREATE TEMP VIEW IF NOT EXISTS LIBRARY_CALLS AS
SELECT id, start, start + duration AS "end", duration AS ns, globalTid, functionId AS nameId, libraryApi
FROM LIBTRACE_FUNCTION_CALL WHERE libraryApi <> 0
UNION ALL
SELECT id, start, "end", "end" - start, globalTid, nameId, 1 FROM CUBLAS_EVENTS WHERE NOT EXISTS (SELECT 1 FROM LIBTRACE_FUNCTION_CALL)
UNION ALL
SELECT -id, start, "end", "end" - start, globalTid, nameId, 2 FROM CUDNN_EVENTS WHERE NOT EXISTS (SELECT 1 FROM LIBTRACE_FUNCTION_CALL);

CREATE TEMP VIEW IF NOT EXISTS LIBRARY_SWEEP AS
SELECT globalTid AS thread, start, "end", id AS range, NULL AS launch, NULL AS first, NULL AS last FROM LIBRARY_CALLS
UNION ALL
SELECT c.globalTid, c.start, c."end", NULL, k.id, NULL, NULL
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
     JOIN LAUNCH_CALLS AS c ON c.pid = k.globalPid >> 24 AND c.correlationId = k.correlationId;

CREATE TEMP TABLE IF NOT EXISTS LIBRARY_KERNELS (call INTEGER PRIMARY KEY, kernels INTEGER, ns INTEGER);

INSERT INTO LIBRARY_KERNELS
SELECT p.range, count(*), sum(k."end" - k.start)
FROM range_launches('LIBRARY_SWEEP') AS p CROSS JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.id = p.launch
WHERE p.range IS NOT NULL AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'library_kernels')
GROUP BY p.range;

-- Kernels of OpenCL have the number of their call's command.
CREATE TEMP TABLE IF NOT EXISTS OPENCL_CALLS (process INTEGER, command INTEGER, call INTEGER, PRIMARY KEY (process, command)) WITHOUT ROWID;

INSERT OR IGNORE INTO OPENCL_CALLS
SELECT f.globalTid >> 24, call_word(a.value, 'command', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS command, f.id
FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS a ON a.id = f.argumentsId
WHERE f.libraryApi = 9 AND command > 0 AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'library_kernels');

INSERT OR IGNORE INTO LIBRARY_KERNELS
SELECT c.call, 1, k.duration FROM LIBTRACE_OPENCL_COMMAND AS k JOIN OPENCL_CALLS AS c ON c.process = k.globalTid >> 24 AND c.command = k.correlationId
WHERE k.operation = 20 AND k.clock > 0 AND NOT EXISTS (SELECT 1 FROM PREPARED WHERE what = 'library_kernels');

INSERT OR IGNORE INTO PREPARED VALUES ('library_kernels');
