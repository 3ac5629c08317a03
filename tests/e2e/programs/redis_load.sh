# SPDX-License-Identifier: Apache-2.0
# needs: redis-server redis-benchmark redis-cli
redis-server --port 0 --unixsocket "$PWD/s" --save '' --dir "$PWD" --appendonly yes --io-threads 2 >/dev/null 2>&1 & server=$!
c() { redis-cli -s "$PWD/s" "$@"; }
for i in $(seq 200); do [ "$(c ping 2>/dev/null)" = PONG ] && break; sleep 0.05; done
redis-benchmark -s "$PWD/s" -n 20000 -c 20 -P 4 -q -t set,get,lpush >/dev/null 2>&1; echo $?
redis-benchmark -s "$PWD/s" -n 5000 -c 10 --threads 2 -q -t incr >/dev/null 2>&1; echo $?
c set k v; c incrby n 41; c incr n; c bgsave; c bgrewriteaof >/dev/null
for i in $(seq 200); do c info persistence | grep -q 'in_progress:1' || break; sleep 0.05; done
c info persistence | grep -a 'status' | tr -d '\r'; c get n; c eval 'return redis.call("get", "k")' 0; c shutdown nosave 2>/dev/null; wait $server; echo $?; rm -rf dump.rdb appendonlydir s
