# SPDX-License-Identifier: Apache-2.0
# needs: curl python3
mkdir www; for i in $(seq 20); do seq "$i" 2000 >"www/$i"; done
python3 -m http.server --directory www --bind 127.0.0.1 "$PORT" >/dev/null 2>&1 &
server=$!
for i in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$PORT/1" && break; sleep 0.1; done
seq 20 | xargs -P4 -I{} curl -s -o got.{} "http://127.0.0.1:$PORT/{}"
for i in $(seq 20); do cmp "got.$i" "www/$i"; done
curl -s --no-progress-meter -Z "http://127.0.0.1:$PORT/[1-20]" -o 'par.#1'; cat par.* | sha256sum
curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$PORT/none"; curl -s http://127.0.0.1:1/; echo $?
kill $server; wait $server; echo $?
