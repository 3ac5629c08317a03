-- SPDX-License-Identifier: Apache-2.0
-- Matrix Multiplication Summary
-- columns: Time (%), Kernel Time (ns), Num Calls, With Kernels, Avg (ns), Med (ns), Min (ns), Max (ns), M, N, K, Batch, Work (GFLOP), Rate (TFLOP/s), Type text, Name text
-- needs: LIBTRACE_FUNCTION_CALL
-- data: calls of cuBLAS with their sizes (--trace=cublas)
-- before: launch_calls library_kernels

-- A multiplication of complex numbers is eight operations in place of two. Rates are those of the calls whose kernels
-- are known; kernels that run at the same time count each. Types of the functions ...Ex are those of the first matrix
-- (cudaDataType).
WITH GEMMS AS (
  SELECT f.id, s.value AS name, substr(s.value, 7, 1) AS letter,
         call_word(a.value, 'm', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS m,
         call_word(a.value, 'n', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS n,
         call_word(a.value, 'k', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS k,
         coalesce(call_word(a.value, 'batch', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8), 1) AS batch,
         call_word(a.value, 'type', f.words, f.word1, f.word2, f.word3, f.word4, f.word5, f.word6, f.word7, f.word8) AS type
  FROM LIBTRACE_FUNCTION_CALL AS f JOIN StringIds AS s ON s.id = f.functionId JOIN StringIds AS a ON a.id = f.argumentsId
  WHERE f.libraryApi = 1 AND s.value LIKE 'cublas%gemm%'),
TYPED AS (
  SELECT *, CASE WHEN type IS NULL THEN letter IN ('C', 'Z') ELSE type IN (4, 5, 6, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27) END AS is_complex,
         CASE coalesce(type, -1) WHEN -1 THEN CASE letter WHEN 'S' THEN 'R_32F' WHEN 'D' THEN 'R_64F' WHEN 'H' THEN 'R_16F' WHEN 'C' THEN 'C_32F' WHEN 'Z' THEN 'C_64F' END
              WHEN 0 THEN 'R_32F' WHEN 1 THEN 'R_64F' WHEN 2 THEN 'R_16F' WHEN 3 THEN 'R_8I' WHEN 4 THEN 'C_32F' WHEN 5 THEN 'C_64F' WHEN 6 THEN 'C_16F'
              WHEN 7 THEN 'C_8I' WHEN 8 THEN 'R_8U' WHEN 10 THEN 'R_32I' WHEN 14 THEN 'R_16BF' WHEN 15 THEN 'C_16BF' WHEN 28 THEN 'R_8F_E4M3'
              WHEN 29 THEN 'R_8F_E5M2' ELSE CAST(type AS TEXT) END AS type_name
  FROM GEMMS WHERE m > 0 AND n > 0 AND k > 0 AND batch > 0)
SELECT coalesce(100.0 * sum(x.ns) / sum(sum(x.ns)) OVER (), 0.0), coalesce(sum(x.ns), 0), count(*), count(x.ns), avg(x.ns), median(x.ns), min(x.ns),
       max(x.ns), m, n, k, batch, 1e-9 * CASE WHEN is_complex THEN 8 ELSE 2 END * m * n * k * batch AS gflop,
       1e-3 * CASE WHEN is_complex THEN 8 ELSE 2 END * m * n * k * batch * count(x.ns) / sum(x.ns), type_name, name
FROM TYPED AS t LEFT JOIN LIBRARY_KERNELS AS x ON x.call = t.id
GROUP BY name, type_name, m, n, k, batch
ORDER BY 2 DESC, 3 DESC, name, type_name, m, n, k, batch;
