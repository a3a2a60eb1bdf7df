# Damaged values whose checksums do not show the damage: fields of a sound value are changed,
# one by one or as in another value, and the checksums are made anew.
package QsketchMutants;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(repaired with_fields mutant %fields);

# Offset and width of the fields of each header that say something of keys, form or sizes.
our %fields = (
	qsets => { kind => [ 4, 1 ], family => [ 16, 4 ], collation => [ 20, 4 ], sets => [ 24, 8 ], elements => [ 32, 8 ], universe => [ 40, 8 ], body => [ 48, 8 ] },
	qsketch => { structure => [ 4, 1 ], encoding => [ 5, 1 ], part => [ 6, 1 ], counter_bytes => [ 7, 1 ], depth => [ 8, 1 ], z => [ 9, 1 ], masks => [ 10, 1 ],
		n => [ 16, 8 ], seed => [ 24, 8 ], family => [ 32, 4 ], collation => [ 36, 4 ], total => [ 40, 8 ], used => [ 48, 8 ], present => [ 56, 4 ] },
	qfilter => { encoding => [ 4, 1 ], layout => [ 5, 1 ], k => [ 8, 4 ], m => [ 16, 8 ], seed => [ 24, 8 ], family => [ 32, 4 ], collation => [ 36, 4 ],
		rows => [ 40, 8 ], q => [ 48, 8 ], ones => [ 56, 4 ] },
	qtop => { n => [ 4, 4 ], texts => [ 12, 1 ], encoding => [ 13, 1 ], bound => [ 16, 8 ], sketch => [ 24, 8 ], count => [ 32, 8 ], text_bytes => [ 40, 8 ],
		structure => [ 68, 1 ], form => [ 69, 1 ], counter_bytes => [ 71, 1 ], family => [ 96, 4 ], collation => [ 100, 4 ], total => [ 104, 8 ], used => [ 112, 8 ] });

my @table = map { my $c = $_; $c = $c & 1 ? $c >> 1 ^ 0x82F63B78 : $c >> 1 for 1 .. 8; $c } 0 .. 255;

sub crc32c
{
	my $crc = 0xFFFFFFFF;

	$crc = $crc >> 8 ^ $table[ ($crc ^ $_) & 255 ] foreach unpack 'C*', $_[0];
	return $crc ^ 0xFFFFFFFF;
}

# The bytes with checksums that fit: of a list of top keys, that of its sketch, too.
sub repaired
{
	my ($bytes) = @_;
	my $list = substr($bytes, 0, 3) eq 'QTP';
	my $at = $list ? 8 : 12;

	return $bytes if length $bytes < 64 && ($list || length $bytes < 60);
	if ($list)
	{
		my $sketch = unpack 'Q<', substr($bytes, 24, 8);
		substr($bytes, 64, $sketch) = repaired(substr $bytes, 64, $sketch) if $sketch >= 60 && $sketch <= length($bytes) - 64;
	}
	substr($bytes, $at, 4) = "\0" x 4;
	substr($bytes, $at, 4) = pack 'L<', crc32c($bytes);
	return $bytes;
}

# The bytes with fields set to numbers.
sub with_fields
{
	my ($type, $bytes, %value) = @_;

	foreach my $name (keys %value)
	{
		my ($at, $width) = @{ $fields{$type}{$name} };
		substr($bytes, $at, $width) = substr pack('Q<', $value{$name}), 0, $width if length $bytes >= $at + $width;
	}
	return repaired($bytes);
}

# A value with one kind of damage, drawn at random, and often with fields of another sound value.
sub mutant
{
	my ($type, $bytes, $other) = @_;
	my @names = sort keys %{ $fields{$type} };
	my $header = $type eq 'qsets' ? 64 : $type eq 'qtop' ? 124 : 60;
	my $kind = int rand 6;

	if ($kind == 0) # the header of another value
	{
		substr($bytes, 0, $header) = substr $other, 0, $header;
	}
	elsif ($kind == 1) # its body
	{
		$bytes = substr($bytes, 0, $header) . substr $other, $header;
	}
	elsif ($kind < 4) # some of its fields
	{
		foreach (0 .. rand 3)
		{
			my ($at, $width) = @{ $fields{$type}{ $names[ rand @names ] } };
			substr($bytes, $at, $width) = substr $other, $at, $width;
		}
	}
	elsif ($kind == 4) # a small change of a field
	{
		my ($at, $width) = @{ $fields{$type}{ $names[ rand @names ] } };
		my $old = unpack 'Q<', substr($bytes, $at, $width) . "\0" x 8;
		substr($bytes, $at, $width) = substr pack('q<', $old + int(rand 5) - 2), 0, $width;
	}
	else # a bit
	{
		my $at = int rand length $bytes;
		substr($bytes, $at, 1) = chr(ord(substr $bytes, $at, 1) ^ 1 << int rand 8);
	}
	substr($bytes, 48, 8) = pack 'Q<', length($bytes) - 64 if $type eq 'qsets' && rand() < 0.7;
	return repaired($bytes);
}

1;
