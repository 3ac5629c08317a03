# SPDX-License-Identifier: Apache-2.0
# needs: awk bc tclsh sed
awk 'BEGIN { while (("seq 5" | getline x) > 0) s += x; print s; print "to sort\nb\na" | "sort"; close("sort"); system("exit 3"); exit 4 }'; echo $?
echo '2^200; scale=20; 4*a(1)' | bc -l; echo 'puts [exec echo tcl]; after 10 {set x 1}; vwait x; exit 5' | tclsh; echo $?
seq 100 | sed -n '1~10{s/1/one/;p}' | paste -sd,; printf '%s\n' b a c | sort -o sorted; cat sorted
