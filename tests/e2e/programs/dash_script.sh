# SPDX-License-Identifier: Apache-2.0
# needs: dash
dash -c 'set -e; for i in $(seq 30); do echo $i | tr 0-9 a-j; done; (exit 3) || echo $?; exec sh -c "exit 4"'
echo $?
