# SPDX-License-Identifier: Apache-2.0
# needs: chroot unshare
# A program that changes its root to a folder without the tracer's library.
mkdir -p root/bin root/lib64 root/lib/x86_64-linux-gnu
cp /bin/dash root/bin/sh && cp /lib/x86_64-linux-gnu/libc.so.6 root/lib/x86_64-linux-gnu/ && cp /lib64/ld-linux-x86-64.so.2 root/lib64/ || exit 0
unshare -r true 2>/dev/null || exit 0
unshare -r chroot root /bin/sh -c 'echo inside; exit 3'; echo $?
unshare -rm sh -c 'chroot root /bin/sh -c "echo again | while read -r x; do echo $x; done; (exit 4)"; echo $?'
rm -rf root
