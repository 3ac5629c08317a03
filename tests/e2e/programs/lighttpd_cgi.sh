# SPDX-License-Identifier: Apache-2.0
# needs: lighttpd curl
# A server that passes LD_PRELOAD to CGI programs, but no other variable of the tracer.
mkdir d
printf '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n"; ls; (exit 3); echo "$? ${HOME-no home}"\n' >d/x.cgi
chmod +x d/x.cgi
printf 'server.document-root="%s/d"\nserver.port=%s\nserver.bind="127.0.0.1"\nserver.modules=("mod_cgi")\ncgi.assign=(".cgi"=>"")\n' "$PWD" "$PORT" >c
lighttpd -D -f c 2>/dev/null &
server=$!
for _ in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$PORT/" && break; sleep 0.05; done
for _ in 1 2 3; do curl -s "http://127.0.0.1:$PORT/x.cgi"; done
kill $server; wait $server; echo $?
rm c
