# How long the processors worked for a session and its parallel workers, and whether
# statements that are cancelled end soon.
#
# No limit here is in ms alone.  The clock goes on while others have the processor, and
# on a slow or shared machine even the processor's own time for the same work is several
# times as long as elsewhere.  So a known piece of work is done and measured in turn with
# what is tested; limits are multiples of it.
package QsketchCpu;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(cpu_function cancel_often);

# Declares user_ms() and system_ms(), and cpu_ms(), their sum: of this process, and of
# all that the postmaster has seen end, in ms, to 10.  From Linux' /proc, of the only thread
# of this process: QEMU, which runs the tests for ARM, has no times in /proc/self.  And
# piece_of_work(), which takes about 20 ms of user time where nobody else is.
#
# The work that a cancelled session goes on with is user time.  System time is mostly the kernel's for clearing fresh
# memory: 64 MB take 10 ms, or 100 ms where a virtual machine first has to get the memory from its host.
sub cpu_function
{
	return q{
		CREATE FUNCTION process(id text) RETURNS text[] VOLATILE LANGUAGE sql AS
		$$ SELECT string_to_array(regexp_replace(pg_read_file('/proc/' || id || '/stat'), '^.*\) ', ''), ' ') $$;
		CREATE FUNCTION user_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT (own[12]::bigint + (process(own[2]))[14]::bigint) * 10 FROM process('thread-self') AS own $$;
		CREATE FUNCTION system_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT (own[13]::bigint + (process(own[2]))[15]::bigint) * 10 FROM process('thread-self') AS own $$;
		CREATE FUNCTION cpu_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT user_ms() + system_ms() $$;
		CREATE FUNCTION piece_of_work() RETURNS bigint VOLATILE LANGUAGE sql AS
		$$ SELECT sum(hashtext(i::text)) FROM generate_series(1, 160000) AS i $$;
	};
}

# Runs a statement again and again in one session, each time cancelled by a
# statement_timeout, and tells whether it ended soon: what it took of the processors'
# user time, beside a piece of work that was done in turn with it.
#
# Arguments: name, statement; timeout_ms, times; settings (SQL), processes (with parallel
# workers), after (a function from the round to SQL), finally (SQL) as wanted.  Returns
# out and err of it all, and how many statements were cancelled.
#
# The timeout is set in one message with the statement, and local to it: no other
# statement of the script can run into it, however slow the machine.  The time that
# somebody else took may be counted as ours now and then, but not three times in a row.
sub cancel_often
{
	my ($node, %work) = @_;
	my $processes = $work{processes} // 1;
	my $run;

	for my $try (1 .. 3)
	{
		$run = cancel_once($node, \%work);
		$run->{limit} = ($work{timeout_ms} + 8 * $run->{piece_ms}) * $processes;
		last if $run->{user_ms} < $run->{limit};
	}
	my $name = $work{name};
	my @ms = @{ $run->{ms} };
	note sprintf '%s: %d cancelled, median %.0f ms, most %.0f ms, %.0f ms of user time, where a piece of work took %.0f ms',
	  $name, $run->{cancelled}, $ms[ $#ms / 2 ], $ms[-1], $run->{user_ms}, $run->{piece_ms};
	is($run->{cancelled}, $work{times}, "$name: every statement was cancelled") or diag($run->{err});
	cmp_ok($run->{user_ms}, '<', $run->{limit}, "$name: soon, by user time");
	cmp_ok($ms[ $#ms / 2 ], '<', 10_000, "$name: nobody sleeps");
	return $run;
}

sub cancel_once
{
	my ($node, $work) = @_;
	my $settings = $work->{settings} // '';
	my $after = $work->{after} // sub { '' };
	my $cpu = "SELECT 'cpu', user_ms();\n";
	my $script = "$settings;\n\\set VERBOSITY sqlstate\n$cpu";

	foreach my $round (1 .. $work->{times})
	{
		$script .= "\\timing on\nSET LOCAL statement_timeout = '$work->{timeout_ms}ms'\\; $work->{statement};\n\\timing off\n";
		$script .= "${cpu}SELECT 'piece', piece_of_work();\n$cpu" . $after->($round);
	}
	my ($status, $out, $err) = $node->psql('postgres', $script . ($work->{finally} // ''),
		on_error_stop => 0, timeout => $PostgreSQL::Test::Utils::timeout_default);
	my @cpu = $out =~ /^cpu\|([\d.]+)$/mg;
	my ($user, $piece) = (0, 0);

	# before each statement, after it, and after the piece of work, which is before the next
	foreach my $round (1 .. $work->{times})
	{
		my ($before, $between, $at_end) = @cpu[ 2 * $round - 2 .. 2 * $round ];

		$user += $between - $before;
		$piece += $at_end - $between;
	}
	return {
		out => $out,
		err => $err,
		cancelled => scalar(() = $err =~ /ERROR:\s+57014/g),
		ms => [ sort { $a <=> $b } $out =~ /^Time: ([\d.]+) ms/mg ],
		user_ms => $user / $work->{times},
		piece_ms => $piece / $work->{times} };
}

1;
