# SPDX-License-Identifier: Apache-2.0
# needs: openssl
# numbers: no
# limit: 90
head -c 300000 /dev/zero | openssl enc -aes-256-cbc -pbkdf2 -pass pass:x -S 0102030405060708 | sha256sum
openssl speed -seconds 1 -bytes 1024 sha256 2>/dev/null | grep -c '^sha256'; echo "${PIPESTATUS[*]}"
openssl speed -seconds 1 -bytes 1024 -multi 2 sha256 2>/dev/null | grep -c '^sha256'
openssl genrsa 1024 2>/dev/null | wc -l; openssl nosuch >/dev/null 2>&1; echo $?
