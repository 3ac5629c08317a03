-- SPDX-License-Identifier: Apache-2.0
-- Calls of library functions, with their names and, as text, the arguments that were kept, without pointers.

CREATE TEMP VIEW IF NOT EXISTS FUNCTION_CALLS AS
SELECT f.id, f.start, f.duration AS ns, f.globalTid, f.libraryApi, l.value AS library, s.value AS name, a.value AS arguments,
       CASE WHEN a.value IS NOT NULL THEN
         call_words(a.value, f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) END AS words
FROM LIBTRACE_FUNCTION_CALL AS f LEFT JOIN StringIds AS s ON s.id = f.functionId LEFT JOIN StringIds AS l ON l.id = f.libraryId
     LEFT JOIN StringIds AS a ON a.id = f.argumentsId;
