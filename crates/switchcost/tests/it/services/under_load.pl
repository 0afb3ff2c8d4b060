# Starts a server, puts a load on it as soon as it answers, asks it to end, and writes to the file `kernels` what the kernel has counted of
# all of them and of this process: `voluntary involuntary`.
#
# Usage: perl under_load.pl SOCKET SIGNAL SERVER LOAD
#   SOCKET  where the server answers: a path, or a port of the loopback
#   SIGNAL  what asks it to end
#   SERVER, LOAD  commands for a shell
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;

my ($socket, $signal, $server, $load) = @ARGV;

# Ends with this process, be it killed (prctl PR_SET_PDEATHSIG); its own children end with it.
sub start {
    my $child = fork // die "fork: $!";
    return $child if $child;
    syscall(157, 1, 15);
    exec '/bin/sh', '-c', "exec $_[0]" or die "exec: $!";
}

sub answers {
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $socket) if $socket =~ /^\d+$/;
    return IO::Socket::UNIX->new(Peer => $socket);
}

my $running = start($server);
my $waited = 0;
until (answers()) {
    die "the server ended\n" if waitpid($running, 1) == $running;
    die "the server does not answer\n" if ++$waited > 300;
    select undef, undef, undef, 0.1;
}
my $loading = start($load);
waitpid $loading, 0;
my $failed = $?;
kill $signal, $running;
waitpid $running, 0;

# getrusage(2) of all children that have been waited for, and theirs; two long integers at 128 are ru_nvcsw and ru_nivcsw.
my $usage = "\0" x 144;
syscall(98, -1, $usage) == 0 or die "getrusage: $!";
my ($voluntary, $involuntary) = unpack 'x128 q2', $usage;
open my $status, '<', '/proc/self/status' or die "status: $!";
while (<$status>) {
    $voluntary += $1 if /^voluntary_ctxt_switches:\s+(\d+)/;
    $involuntary += $1 if /^nonvoluntary_ctxt_switches:\s+(\d+)/;
}
open my $kernels, '>', 'kernels' or die "kernels: $!";
print $kernels "$voluntary $involuntary";
exit($failed != 0);
