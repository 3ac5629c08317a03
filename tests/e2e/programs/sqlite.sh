# SPDX-License-Identifier: Apache-2.0
# needs: sqlite3
sqlite3 db 'pragma journal_mode=wal; create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<20000) insert into t select i, hex(i) from n; create index x on t(b); select count(*), sum(a), max(b) from t; vacuum;'
sqlite3 db '.dump' | sha256sum
for i in 1 2 3 4; do sqlite3 -cmd '.timeout 5000' db "update t set b = b || '$i' where a % 4 = $i % 4" & done; wait; sqlite3 db 'select sum(length(b)) from t; pragma integrity_check'
sqlite3 db 'select nosuch from t'; echo $?; rm -f db*
