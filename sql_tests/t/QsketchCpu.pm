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

# Declares cpu_ms(): of this process, and of all that the postmaster has seen
# end, in ms, to 10.  From Linux' /proc.
sub cpu_function
{
	return q{
		CREATE FUNCTION process(id text) RETURNS text[] VOLATILE LANGUAGE sql AS
		$$ SELECT string_to_array(regexp_replace(pg_read_file('/proc/' || id || '/stat'), '^.*\) ', ''), ' ') $$;
		CREATE FUNCTION cpu_ms() RETURNS float8 VOLATILE LANGUAGE plpgsql AS
		$$ DECLARE
			own text[] := process('self');
			parent text[] := process(own[2]);
		BEGIN
			RETURN (own[12]::bigint + own[13]::bigint + parent[14]::bigint + parent[15]::bigint) * 10;
		END $$;
	};
}

1;
