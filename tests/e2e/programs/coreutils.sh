# SPDX-License-Identifier: Apache-2.0
# needs: find xargs dd
mkdir -p a/b/c; for i in $(seq 60); do echo "$i" >"a/b/c/$i"; done
find a -type f -print0 | xargs -0 -P4 -n5 cat | sort -n | sha256sum
sort --parallel=2 -n <(seq 20000 -1 1) | head -3
dd if=/dev/zero of=zeros bs=64k count=20 2>/dev/null; cp zeros copy; cmp zeros copy && wc -c copy
stdbuf -oL tr a-z A-Z <<<"line buffered"
nohup echo nohup 2>/dev/null; setsid -w echo setsid; nice -n 1 echo nice; env -i /bin/echo bare
mkfifo fifo; (cat fifo | rev) & echo fifo-data >fifo; wait
flock lock echo locked; tee t1 t2 <<<tee >/dev/null; cat t1 t2
split -n 4 zeros part.; cat part.?? | cmp - zeros && echo joined; tail -n 1 --pid=$$ -f /dev/null & sleep 0.05; kill $!; wait 2>/dev/null
ls nosuch; echo $?
