# SPDX-License-Identifier: Apache-2.0
# needs: g++ clang
printf '#include <vector>\n#include <string>\n#include <iostream>\nint main() { std::vector<std::string> v{"a","b"}; for (auto &s : v) std::cout << s; std::cout << std::endl; try { throw 5; } catch (int i) { return i; } }\n' >v.cc
g++ -O1 -flto=2 -o v v.cc && ./v; echo $?
clang -x c -c -o c.o - <<<'int f(void) { return 1; }'; echo $?
clang -fsyntax-only -x c - <<<'int f(void) { return x; }'; echo $?
