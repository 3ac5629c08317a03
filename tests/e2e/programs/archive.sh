# SPDX-License-Identifier: Apache-2.0
# needs: tar gzip bzip2 xz
mkdir tree; for i in $(seq 200); do seq "$i" >"tree/$i"; done
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - tree | gzip -n >t.tgz
gzip -dc t.tgz | tar -tf - | sort | sha256sum
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - tree | xz -T2 -1 >t.txz; xz -dc t.txz | sha256sum
tar --sort=name --mtime=@0 --owner=0 --group=0 -cjf t.tbz tree; mkdir out; tar -C out -xjf t.tbz; diff -r tree out/tree && echo same
