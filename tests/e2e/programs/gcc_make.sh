# SPDX-License-Identifier: Apache-2.0
# needs: gcc make
mkdir src; for i in $(seq 12); do echo "int f$i(int x) { for (int i = 0; i < $i; i++) x += i * $i; return x; }" >"src/f$i.c"; done
{ for i in $(seq 12); do echo "int f$i(int);"; done; echo '#include <stdio.h>'; echo 'int main(void) { int s = 0;'; for i in $(seq 12); do echo "s += f$i($i);"; done; echo 'printf("%d\n", s); return s & 1; }'; } >src/main.c
cat >Makefile <<'EOF'
OBJECTS := $(patsubst src/%.c,%.o,$(wildcard src/*.c))
prog: $(OBJECTS)
	@gcc -o $@ $(sort $^)
%.o: src/%.c
	@gcc -O2 -c -o $@ $<
fail:
	@false
EOF
make -s -j3 && ./prog; echo $?
make -s fail; echo $?
gcc -c broken.c; echo $?
