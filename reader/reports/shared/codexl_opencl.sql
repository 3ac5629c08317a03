-- SPDX-License-Identifier: Apache-2.0
-- Rows of the sections of OpenCL that 'trace export -t atp' writes, in order of their row ids: calls of each thread in order of their start.
-- Functions that AMD's list does not have cannot be written: its reader takes a name and its number from that list.

CREATE TEMP TABLE CODEXL_OPENCL AS
SELECT f.globalTid, f.start, f.start + f.duration AS "end", s.value AS name, opencl_function(s.value) AS type, opencl_result(s.value, f.returnWord) AS result,
       call_values(a.value, f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS arguments,
       call_word(a.value, 'command', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS command
FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS s ON s.id = f.functionId LEFT JOIN StringIds AS a ON a.id = f.argumentsId
WHERE f.libraryApi = 9 AND coalesce(f.flags, 0) & 7 = 0 AND f.duration >= 0 AND f.globalTid IS NOT NULL AND opencl_function(s.value) IS NOT NULL
ORDER BY f.globalTid, f.start, f.duration DESC;

CREATE TEMP TABLE CODEXL_OPENCL_LINES (globalTid PRIMARY KEY, calls) WITHOUT ROWID;
INSERT INTO CODEXL_OPENCL_LINES SELECT globalTid, count(*) FROM CODEXL_OPENCL GROUP BY globalTid;

-- Commands with times, and the columns that a line has after the device: 1 kernel and sizes, 2 handle alone, 4 bytes.
CREATE TEMP TABLE CODEXL_COMMANDS (process, number, type, command, queued, submitted, start, "end", streamId, queue, contextId, context, device, columns, handle,
                                   kernel, global, local, bytes, PRIMARY KEY (process, number)) WITHOUT ROWID;
INSERT OR IGNORE INTO CODEXL_COMMANDS
SELECT c.globalTid >> 24, c.correlationId, c.commandType, opencl_command(c.commandType), c.start - c.sinceQueued, c.start - c.sinceSubmitted, c.start,
       c.start + c.duration, c.streamId, c.queue, c.contextId, c.context, d.value,
       CASE WHEN c.commandType IN (4592, 4593) THEN 1 WHEN c.commandType = 4594 THEN 2 WHEN c.operation IN (1, 2, 8, 21) OR c.commandType IN (4603, 4604) THEN 4 ELSE 0 END,
       c.kernel, s.value,
       '{' || c.globalX || CASE WHEN c.dimensions > 1 THEN ',' || c.globalY ELSE '' END || CASE WHEN c.dimensions > 2 THEN ',' || c.globalZ ELSE '' END || '}',
       CASE WHEN c.localX = 0 THEN '{NULL}'
            ELSE '{' || c.localX || CASE WHEN c.dimensions > 1 THEN ',' || c.localY ELSE '' END || CASE WHEN c.dimensions > 2 THEN ',' || c.localZ ELSE '' END || '}' END,
       c.bytes
FROM LIBTRACE_OPENCL_COMMAND AS c LEFT JOIN StringIds AS s ON s.id = c.nameId LEFT JOIN StringIds AS d ON d.id = c.deviceNameId
WHERE c.clock > 0 AND c.duration >= 0 AND c.start >= 0;
