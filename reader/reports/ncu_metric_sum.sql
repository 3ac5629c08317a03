-- SPDX-License-Identifier: Apache-2.0
-- Kernel Metric Summary
-- columns: Values, Sum, Avg, Min, Max, Unit text, Metric text, Name text
-- needs: LIBTRACE_NCU_METRIC
-- data: results of Nsight Compute
-- arguments: base mangled metric=GLOB

SELECT count(*), printf('%.16g', total(m.value)), printf('%.16g', avg(m.value)), printf('%.16g', min(m.value)), printf('%.16g', max(m.value)),
       unit.value, metric.value AS metric_name, kernel.value AS kernel_name
FROM LIBTRACE_NCU_METRIC AS m
     JOIN LIBTRACE_NCU_RESULT AS r ON r.id = m.resultId
     JOIN StringIds AS metric ON metric.id = m.nameId
     LEFT JOIN StringIds AS unit ON unit.id = m.unitId
     LEFT JOIN StringIds AS kernel ON kernel.id = CASE WHEN argument('base') THEN r.shortName
                                                       WHEN argument('mangled') THEN r.mangledName
                                                       ELSE r.demangledName END
WHERE typeof(m.value) IN ('integer', 'real') AND coalesce(m.isStored, 1) AND metric.value GLOB coalesce(argument('metric'), '*')
GROUP BY kernel.value, metric.value
ORDER BY kernel_name, metric_name;
