# How long the processors worked for a session and its parallel workers.  Unlike
# the time on the clock this says little about what else the machine does.
package QsketchCpu;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(cpu_function);

# Declares user_ms() and system_ms(), and cpu_ms(), their sum: of this process, and of
# all that the postmaster has seen end, in ms, to 10.  From Linux' /proc.
#
# What a session goes on to do, though it was cancelled, is user time.  System time is
# mostly the kernel's for clearing fresh memory: 64 MB take 10 ms, or 100 where a virtual
# machine has to get them from its host first.
sub cpu_function
{
	return q{
		CREATE FUNCTION process(id text) RETURNS text[] VOLATILE LANGUAGE sql AS
		$$ SELECT string_to_array(regexp_replace(pg_read_file('/proc/' || id || '/stat'), '^.*\) ', ''), ' ') $$;
		CREATE FUNCTION user_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT (own[12]::bigint + (process(own[2]))[14]::bigint) * 10 FROM process('self') AS own $$;
		CREATE FUNCTION system_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT (own[13]::bigint + (process(own[2]))[15]::bigint) * 10 FROM process('self') AS own $$;
		CREATE FUNCTION cpu_ms() RETURNS float8 VOLATILE LANGUAGE sql AS
		$$ SELECT user_ms() + system_ms() $$;
	};
}

1;
