# SPDX-License-Identifier: Apache-2.0
# needs: java javac
# limit: 120
java -version; echo 'class A { public static void main(String[] a) { System.out.println("A"); } }' >A.java
javac A.java && java -Xshare:auto -cp . A; java NoSuch >/dev/null 2>&1; echo $?
