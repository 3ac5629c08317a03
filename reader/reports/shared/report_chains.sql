-- SPDX-License-Identifier: Apache-2.0
-- The frames of callchains, the outermost of each first: id as in report_events, function, module, address.

SELECT f.id * 4, s.value, m.value, f.originalIP
FROM OSRT_CALLCHAINS AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
ORDER BY f.id, f.stackDepth DESC;

SELECT f.id * 4 + 1, s.value, m.value, f.originalIP
FROM CUDA_CALLCHAINS AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
ORDER BY f.id, f.stackDepth DESC;

SELECT f.id * 4 + 2, s.value, m.value, f.originalIP
FROM SAMPLING_CALLCHAINS AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
ORDER BY f.id, f.stackDepth DESC;
