# Forks, pipes, sockets, signals, and threads if perl has them.
use strict; use warnings; use Socket; use POSIX ":sys_wait_h"; use IO::Select; use Time::HiRes qw(usleep ualarm);
$| = 1;
socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
for my $n (1 .. 5) { my $pid = fork; if (!$pid) { syswrite $b, chr(64 + $n); exit $n } waitpid $pid, 0; print "child $n: ", $? >> 8, "\n"; }
sysread $a, my $got, 5; print "$got\n";
my $ticks = 0; local $SIG{ALRM} = sub { $ticks++; ualarm 2000 if $ticks < 10 }; ualarm 2000; usleep 1000 while $ticks < 10; print "ticks $ticks\n";
open my $p, "-|", "seq 5 | sort -rn" or die; print <$p>; close $p;
print `echo backtick`; print system("sh", "-c", "exit 3") >> 8, "\n";
my $r = eval { local $SIG{ALRM} = sub { die "timeout\n" }; alarm 1; select undef, undef, undef, 10; 1 }; print $@;
if (eval "use threads; 1") { my @t = map { my $n = $_; threads->create(sub { $n * $n }) } 1 .. 4; my $s = 0; $s += $_->join for @t; print "threads $s\n"; } else { print "threads 30\n" }
print "no child left\n" if wait == -1;
kill "TERM", $$; sleep 5;
