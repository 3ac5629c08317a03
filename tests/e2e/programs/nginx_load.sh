# SPDX-License-Identifier: Apache-2.0
# needs: nginx curl
# ignore: *.log *temp*
mkdir -p www logs; seq 5000 >www/a; echo small >www/b
cat >nginx.conf <<EOF
daemon off; master_process on; worker_processes 2; pid $PWD/pid; error_log $PWD/logs/error.log; user root;
events { worker_connections 64; }
http { access_log $PWD/logs/access.log; server { listen 127.0.0.1:$PORT; root $PWD/www; }
client_body_temp_path $PWD/temp1; proxy_temp_path $PWD/temp2; fastcgi_temp_path $PWD/temp3; uwsgi_temp_path $PWD/temp4; scgi_temp_path $PWD/temp5; }
EOF
[ "$(id -u)" = 0 ] || sed -i 's/ user root;//' nginx.conf
nginx -e logs/error.log -p "$PWD" -c nginx.conf & server=$!
for i in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$PORT/b" && break; sleep 0.05; done
seq 150 | xargs -P4 -I{} curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$PORT/a?{}" | sort | uniq -c
curl -s "http://127.0.0.1:$PORT/[1-100]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
kill -HUP $server; sleep 0.3; curl -s "http://127.0.0.1:$PORT/b"; kill -QUIT $server; wait $server; echo $?; rm -rf nginx.conf pid logs temp?
