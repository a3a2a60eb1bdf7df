# Lists of values that are hard to tell apart, for each type that can be a key: neighbours, signs,
# extremes, special values, values 2^32 apart, the same leaves in other shapes, and equal values
# that are written in different ways.
#
# A list is a hash:
#	name	its name
#	type	the type of its values, by default the name; polymorphic types have several lists
#	also	the type that keys are looked up as, by default the same: types of one family
#	key	the key that is made of a value v: anonymous rows
#	setup	what makes the type
#	since	the version of PostgreSQL that brings the type
#	values	the values as text, at least 20
package QsketchKeys;

use strict;
use warnings;
no warnings 'qw'; # commas are meant
use Exporter 'import';

our @EXPORT = qw(key_lists);

# ---- numbers ----

my @int2 = qw(0 1 -1 2 -2 3 -3 127 128 -128 -129 255 256 -255 -256 257 512 16384 32766 32767 -32766 -32767 -32768);
my @int4 = (@int2, qw(32768 65535 65536 65537 -65536 16777216 2147483646 2147483647 -2147483647 -2147483648));
my @int8 = (@int4, qw(4294967294 4294967295 4294967296 4294967297 -4294967295 -4294967296 -4294967297 8589934592 8589934593 -8589934592 1099511627776
	281474976710656 9223372036854775806 9223372036854775807 -9223372036854775807 -9223372036854775808 4611686018427387904));
my @unsigned4 = qw(0 1 2 3 127 128 255 256 257 65535 65536 65537 16777216 16777217 1073741824 2147483646 2147483647 2147483648 2147483649 4294967294
	4294967295 10 100 1000);
my @unsigned8 = (@unsigned4, qw(4294967296 4294967297 8589934592 8589934594 1099511627776 9223372036854775807 9223372036854775808 9223372036854775809
	18446744073709551614 18446744073709551615 18446744069414584320));
my @real = qw(0 -0 1 -1 1.0 1e0 0.1 -0.1 0.5 -0.5 0.25 2 4 1.0000001 0.99999994 16777216 16777217 16777218 3.4028235e38 -3.4028235e38 1.17549435e-38 1e-45
	-1e-45 1.4e-45 NaN nan Infinity -Infinity inf);
my @double = (@real, qw(1.0000000000000002 0.9999999999999999 9007199254740992 9007199254740993 9007199254740994 1.7976931348623157e308
	-1.7976931348623157e308 2.2250738585072014e-308 5e-324 -5e-324 1e-323 4294967296 4294967297 1e300 1e-300));
# digits in groups of four: a number's weight moves by 10000
my @numeric = (qw(0 -0 0.00 -0.0 1 1.0 1.00 01 -1 -1.000 5 -5 5.0 10 100 1000 10000 10000.00 100000000 1e4 1e-4 0.0001 -0.0001 0.00010 0.001 1e8 1e-8 1e12
	1e16 -10000 1.5 -1.5 2.5 -2.5 1.50 15 150 0.15 0.015 10001 100010001 1.0001 1.00010001 10000.0001 1e100 1e101 -1e100 1e-100 1e-101
	123456789012345678901234567890 -123456789012345678901234567890 123456789012345678901234567891 12345678901234567890.1234567890 12345678901234567890.123456789
	4294967296 4294967297 9223372036854775807 9223372036854775808 18446744073709551616 NaN nan Infinity -Infinity inf), '1e131071', '-1e131071', '1e-16383', '-1e-16383', '9' x 40, '9' x 40 . '.0', '9' x 41);
my @boolean = qw(t f true false TRUE FALSE yes no on off y n 1 0 tru fals ye of T F Yes No ON OFF);

# ---- strings ----

my @text = ('', ' ', '  ', 'a', 'A', 'a ', ' a', 'aa', 'ab', 'ba', 'b', "a\tb", "a\nb", 'NULL', 'null', '{}', 'a,b', '"a"', 'a"b', "a'b", '\\', 'ß', 'ss',
	'é', "e\xcc\x81", 'É', 'œ', 'a' x 7, 'a' x 8, 'a' x 9, 'a' x 63, 'a' x 64, 'a' x 3000, 'a' x 2999 . 'b', 'b' . 'a' x 2999, "\xf0\x90\x8d\x88",
	"\xf0\x9f\x98\x80");
my @bpchar = ('', ' ', '    ', 'a', 'a ', 'a    ', 'A', ' a', ' a ', 'b', 'b ', 'aa', 'aa   ', 'a a', 'aaaaa', 'aaaa', 'aaaab', "a\t", "\t", "\ta", 'ab', 'ba');
my @name = ('', ' ', 'a', 'a ', 'A', ' a', 'b', 'ab', 'ba', 'aa', 'a' x 62, 'a' x 63, 'a' x 61 . 'b', 'ä', 'Ä', 'pg_class', 'Pg_class', 'a"b', "a'b", 'NULL',
	'a' x 8, 'a' x 9);
my @bytea = ('\\x', '\\x00', '\\x0000', '\\x000000', '\\x01', '\\x0001', '\\x0100', '\\x010000', '\\x61', 'a', '\\x6100', '\\x0061', '\\x41', '\\xff',
	'\\xffff', '\\xff00', '\\x80', '\\x7f', '\\x' . '00' x 3, '\\x' . '00' x 11, '\\x' . '00' x 12, '\\x' . '00' x 13, '\\x' . '61' x 3000, '\\x' . '61' x 2999 . '62', '\\x' . '62' . '61' x 2999);
my @bytes1 = (qw(a A b z 0 9 - _ ~ ! @ \001 \002 \177 \200 \201 \377 \376), '', ' ', '\\000', '\\141', '\\040');
my @uuid = (map { my $u = $_; ($u, uc "{$u}") } '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001',
	'00000000-0000-0000-0000-000100000000', '00000000-0000-0000-0001-000000000000', '00000001-0000-0000-0000-000000000000',
	'01000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'ffffffff-ffff-ffff-ffff-fffffffffffe',
	'fffffffe-ffff-ffff-ffff-ffffffffffff', '550e8400-e29b-41d4-a716-446655440000', '550e8400-e29b-41d4-a716-446655440001', 'a7164466-5544-0000-550e-8400e29b41d4');
my @inet = qw(0.0.0.0 0.0.0.0/0 0.0.0.0/1 0.0.0.0/32 0.0.0.1 1.0.0.0 10.0.0.1 10.0.0.1/32 10.0.0.1/24 10.0.0.1/25 10.0.0.1/8 10.0.0.0/8 10.0.0.0/24
	255.255.255.255 255.255.255.255/0 ::/0 ::/1 :: ::/128 ::1 ::1/128 ::1/127 ::10.0.0.1 ::ffff:10.0.0.1 ::ffff:10.0.0.1/128 1:: 0:1:: fe80::1 fe80::1/64
	FE80::1/64 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff);
my @cidr = qw(0.0.0.0/0 0.0.0.0/1 0.0.0.0 0.0.0.0/32 0.0.0.1 10 10.0/16 10.0.0.0/8 10.0.0.0/9 10.0.0.0/24 10.0.0.0/25 10.0.0.0/32 10.0.0.1/32 10.0.0.1
	128.0.0.0/1 255.255.255.255 ::/0 ::/1 :: ::1 ::1/128 1::/16 1::/17 ::ffff:10.0.0.0/104 ::ffff:10.0.0.1 fe80::/10 fe80::/64);
my @macaddr = qw(00:00:00:00:00:00 00:00:00:00:00:01 00:00:00:00:01:00 00:00:00:01:00:00 00:00:01:00:00:00 00:01:00:00:00:00 01:00:00:00:00:00
	08:00:2b:01:02:03 08002b:010203 0800.2b01.0203 08-00-2B-01-02-03 08:00:2b:01:02:04 08:00:2b:02:01:03 09:00:2b:01:02:03 ff:ff:ff:ff:ff:ff ff:ff:ff:ff:ff:fe
	fe:ff:ff:ff:ff:ff 80:00:00:00:00:00 7f:ff:ff:ff:ff:ff 00:00:01:00:00:01 00:00:ff:ff:ff:ff);
my @macaddr8 = (@macaddr, qw(08:00:2b:ff:fe:01:02:03 08:00:2b:00:00:01:02:03 00:00:00:00:00:00:00:01 00:00:00:01:00:00:00:00 00:00:00:01:00:00:00:01
	01:00:00:00:00:00:00:00 ff:ff:ff:ff:ff:ff:ff:ff 00:00:00:00:ff:ff:ff:ff ff:ff:ff:ff:00:00:00:00 80:00:00:00:00:00:00:00 80:00:00:00:80:00:00:00));

# ---- dates and times: 2^32 microseconds are 01:11:34.967296 ----

my @date = ('2000-01-01', '2000-01-02', '1999-12-31', 'Jan 1 2000', '2024-02-29', '2024-02-28', '2024-03-01', 'infinity', '-infinity', '4713-11-24 BC',
	'4714-11-24 BC', '5874897-12-31', '5874897-12-30', '0001-01-01', '0001-12-31 BC', '1970-01-01', '2000-05-07', '1999-08-28', '2179-06-06', '2179-06-07',
	'20000101', '2000-09-13');
my @timestamp = ('2000-01-01', '2000-01-01 00:00:00.000001', '2000-01-01 00:00:00.000002', '2000-01-01 01:11:34.967295', '2000-01-01 01:11:34.967296',
	'2000-01-01 01:11:34.967297', '2000-01-01 01:11:34.967298', '2000-01-01 02:23:09.934592', '2000-01-01 02:23:09.934594', '1999-12-31 23:59:59.999999',
	'1999-12-31 23:59:59.999998', '1999-12-31 22:48:25.032704', '1999-12-31 22:48:25.032703', '1999-12-31 22:48:25.032705', '1999-12-31 21:36:50.065408',
	'2000-01-02', '2000-01-01 24:00:00', '2000-01-01T00:00', '1999-12-31', '2026-03-29 01:59:59.999999', '2026-03-29 02:00', '2026-10-25 02:30', 'infinity',
	'-infinity', '4713-01-01 BC', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999998', '0001-01-01', '0001-12-31 BC', '1970-01-01',
	'2136-02-07 06:28:16', '8710-02-10');
my @timestamptz = ((map { /infinity|BC/ ? $_ : "$_+00" } @timestamp), '2000-01-01 02:00+02', '1999-12-31 19:00-05', '2000-01-01 00:00+00:00:01',
	'1999-12-31 23:59:59+00', '2026-10-25 02:30+02', '2026-10-25 02:30+01', '2026-10-25 01:30+01');
my @time = qw(00:00 00:00:00.000001 00:00:00.000002 00:00:00.000003 01:11:34.967295 01:11:34.967296 01:11:34.967297 01:11:34.967298 01:11:34.967299
	02:23:09.934592 02:23:09.934593 02:23:09.934594 02:23:09.934595 23:59:59.999999 23:59:60 24:00 12:00 12:00:00.0 12:00:00.5 12:00:00.500000 12:00:01
	11:59:59.999999 13:11:34.967296);
my @timetz = (qw(00:00+00 00:00+01 01:00+01 01:00+00 23:00-01 24:00+00 24:00+01 00:00-00 00:00+00:00 00:00:00.000001+00 00:00:00.000002+00 01:11:34.967296+00
	01:11:34.967297+00 01:11:34.967298+00 12:00+02 10:00+00 14:00+04 12:00-02 12:00:00+02:00:01 12:00:00+02:00:02 12:00:01+02 12:00+15:59:59 12:00-15:59:59
	02:23:09.934594+00 12:00+02:00));
my @interval = ('0', '1 us', '-1 us', '2 us', '01:11:34.967295', '01:11:34.967296', '01:11:34.967297', '01:11:34.967298', '-01:11:34.967296',
	'-01:11:34.967297', '02:23:09.934594', '1 day', '24:00:00', '23:59:59.999999', '-1 day', '-24:00:00', '1 month', '30 days', '720:00:00', '31 days',
	'29 days 24:00:00', '-1 month', '-30 days', '1 month -30 days', '1 month -30 days 1 us', '-1 month 30 days', '12 months', '1 year', '360 days', '365 days',
	'1 mon 1 day', '31 days 0:00:00', '30 days 24:00:00', '1 day -24:00:00', '213503982 days 08:01:49.551616', '213503982 days 08:01:49.551617',
	'-213503982 days -08:01:49.551616', '427007964 days 16:03:39.103232', '2147483647 days', '-2147483648 days', '2147483647 mons', '-2147483648 mons',
	'178000000 years', '-178000000 years', '2562047788:00:54.775807', '-2562047788:00:54.775807', '2562047788:00:54.775806',
	'178956970 years 7 mons 2147483646 days 2562047788:00:54.775807', '178956970 years 7 mons 2147483646 days 2562047788:00:54.775806');

# ---- values with parts ----

my @jsonb = ('1', '1.0', '1.00', '-1', '-1.0', '0', '-0', '0.0', '"1"', 'true', 'false', '"true"', 'null', '"null"', '""', '[]', '{}', '[[]]', '[{}]',
	'[[], []]', '[null]', '[[null]]', '[1]', '[[1]]', '[[[1]]]', '["1"]', '[true]', '[1, 2]', '[[1, 2]]', '[[1], 2]', '[1, [2]]', '[[1], [2]]', '[1.0, 2]',
	'[2, 1]', '[1, 2, null]', '[1, [2, null]]', '{"a": 1}', '{"a": 1.00}', '{"a": -1}', '{"a": "1"}', '["a", 1]', '{"a": [1]}', '[{"a": 1}]', '{"a": {"b": 1}}',
	'{"b": {"a": 1}}', '{"a": {}, "b": 1}', '{"b": 1, "a": {}}', '{"a": [], "b": 1}', '{"a": 2, "a": {}, "b": 1}', '{"a": {"b": {}}}', '["a", {"b": 1}]',
	'{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 2, "b": 1}', '[{"a": 1}, {"b": 2}]', '[{"a": 1, "b": 2}]', '{"a": null}', '{"a": "null"}', '{"": 1}',
	'{"": ""}', '[""]', '["", ""]', '["ab"]', '["a", "b"]', '"ab"', '{"ab": ""}', '{"a": "b"}', '{"b": "a"}', '["a\u0001b"]', '["a\u0001", "b"]', '1e2', '100',
	'1e-2', '0.01', '1e100', '-1e100', '12345678901234567890.5', '-12345678901234567890.5', '[1.5, -2.5]', '[-1.5, 2.5]', '["1", 2]', '[1, "2"]',
	'{"a": [1, {"b": [2, 3]}]}', '{"a": [1, {"b": [2], "c": 3}]}', '{"a": [1, {"b": [2, [3]]}]}', '"' . 'x' x 3000 . '"', '["' . 'x' x 3000 . '"]');
my @int_arrays = qw({} {1} {{1}} {{{1}}} [0:0]={1} [1:1]={1} [2:2]={1} [-1:-1]={1} {1,2} [0:1]={1,2} [2:3]={1,2} {{1,2}} {{1},{2}} [0:0][1:2]={{1,2}}
	[1:1][0:1]={{1,2}} {2,1} {1,1} {1,1,1} {0} {-1} {NULL} {{NULL}} {NULL,NULL} {{NULL},{NULL}} {{NULL,NULL}} [0:1]={NULL,NULL} {1,NULL} {NULL,1} {1,NULL,2}
	{1,2,NULL} {NULL,1,2} {1,2,3,4} {{1,2},{3,4}} {{1,2,3,4}} {{1},{2},{3},{4}} {{{1,2}},{{3,4}}} {{{1},{2}},{{3},{4}}} {{1,2,3},{4,5,6}} {{1,2},{3,4},{5,6}}
	{1,2,3,4,5,6});
my @text_arrays = ('{}', '{""}', '{{""}}', '{NULL}', '{"NULL"}', '{"",""}', '{{"",""}}', '{{""},{""}}', '{NULL,""}', '{"",NULL}', '{a}', '{A}', '{"a "}',
	'{a,b}', '{b,a}', '{ab}', '{{a,b}}', '{{a},{b}}', '[0:1]={a,b}', '[5:6]={a,b}', '{"a,b"}', '{a,b,NULL}', '{a,NULL,b}', '{"{a,b}"}', '{a,"",b}',
	'{"","a",b}', '{"a\\"b"}', '{aa}', '{a,a}', '{a,a,a}', '{' . 'x' x 3000 . '}', '{' . 'x' x 2999 . ',x}');
my @numeric_arrays = qw({} {0} {0.0} {1} {1.0} {1.00} {-1} {-1.0} {1,2} {-1,2} {1,-2} {-1,-2} {-1.0,2.0} {2,1} {{1,2}} [0:1]={1,2} {{1},{2}} {NaN} {Infinity}
	{-Infinity} {NaN,Infinity} {Infinity,NaN} {-Infinity,NaN} {NULL,1} {1,NULL} {NULL,-1} {10000} {0.0001} {1e100} {-1e100} {1.5,-2.5,3} {-1.5,2.5,3}
	{1.50,-2.5,3.0});
my @timestamptz_arrays = (map { my $t = $_; map { s/T/$t/gr } '{"T"}', '{"T",NULL}', '{{"T"}}' } '2000-01-01+00', '2000-01-01 02:00+02',
	'2000-01-01 00:00:00.000001+00', '2000-01-01 01:11:34.967296+00', '2000-01-01 01:11:34.967297+00', '1999-12-31 22:48:25.032704+00', 'infinity', '-infinity');
my @interval_arrays = map { my $t = $_; map { s/T/$t/gr } '{"T"}', '{"T","T"}', '[0:0]={"T"}' } '0', '1 day', '24:00:00', '1 month', '30 days',
	'213503982 days 08:01:49.551616', '01:11:34.967297', '-1 day';
my @jsonb_arrays = map { my $t = s/"/\\"/gr; ("{\"$t\"}", "{{\"$t\"}}", "{\"$t\",NULL}") } '1', '1.0', '-1', '[1]', '[[1], 2]', '[1, [2]]', '[1, 2]', '{}',
	'[]', '{"a": 1}', '["a", 1]';
my @float_arrays = qw({} {0} {-0} {0,-0} {-0,0} {{0,0}} {1} {-1} {NaN} {nan} {Infinity} {-Infinity} {NaN,1} {1,NaN} {NULL} {0,NULL} {-0,NULL} {NULL,0}
	[0:1]={0,0} {1e-300} {5e-324} {-5e-324} {1,2} {2,1});
my @padded_arrays = ('{a}', '{"a "}', '{"a    "}', '{A}', '{" a"}', '{""}', '{" "}', '{NULL}', '{"NULL"}', '{a,b}', '{"a ","b "}', '{"a  ",b}', '{b,a}',
	'{{a,b}}', '[0:1]={a,b}', '{{a},{b}}', '{a,NULL}', '{NULL,a}', '{"a a"}', '{aa}', '{"aa "}', '{a,"",b}');
my @pairs = ('(,)', '(,"")', '(0,)', '(0,"")', '(1,)', '(1,"")', '(,a)', '(1,a)', '(1,A)', '(1,"a ")', '(-1,a)', '(2,a)', '(1,b)', '(1,ab)', '(1,NULL)',
	'(1,"NULL")', '(1,"a,b")', '(1,"(1,a)")', '(2147483647,a)', '(-2147483648,a)', '(1,"""a""")', '(1,aa)', '(0,a)', '(97,a)');
# of timestamp, numeric, numeric[], float8, "char"
my @mixed = map { my $v = $_; map { "($v,$_)" } '"{1,2}",0,a', '"{{1,2}}",0,a', '"{1.0,2}",-0,a', ',0,a', '"{-1,2}",NaN,' } '2000-01-01,1.0',
	'2000-01-01,-1.0', '2000-01-01,1', '"2000-01-01 01:11:34.967297",1', '"2000-01-01 00:00:00.000001",1', '"2000-01-01 01:11:34.967296",1', ',1',
	'2000-01-01,', ',';
# a pair, and an array of pairs
my @nested = map { my $p = $_; map { "($p,$_)" } '', '{}', '"{""(1,a)""}"', '"{""(1,a)"",""(1,b)""}"', '"{{""(1,a)""},{""(1,b)""}}"' } '', '"(1,a)"',
	'"(1,)"', '"(,a)"', '"(,)"', '"(-1,a)"';
# of ends of ranges: low, middle, high, and another way to write low
sub ranges_of
{
	my ($low, $middle, $high, $again) = map { qq{"$_"} } @_;
	return ('empty', '(,)', '[,]', "[$low,$low]", "[$low,$low)", "($low,$low)", "[$low,$middle]", "[$low,$middle)", "($low,$middle]", "($low,$middle)",
	"[$low,$high]", "[$low,$high)", "[$middle,$high)", "($middle,$high]", "[$low,)", "($low,)", "(,$low)", "(,$low]",
		"[$high,)", "(,$high]", "[$again,$middle)", "[$again,)", "(,$again]", "[$middle,$middle]", "[$high,$high]", "[$again,$again]");
}
sub multiranges_of
{
	my ($low, $middle, $high, $again) = map { qq{"$_"} } @_;
	return ('{}', '{(,)}', '{empty}', "{[$low,$low]}", "{[$low,$middle)}", "{($low,$middle)}", "{[$low,$middle]}", "{($low,$middle]}", "{[$low,$high)}",
	"{[$low,$middle),[$middle,$high)}", "{[$low,$middle),($middle,$high)}", "{[$low,$low],[$high,$high]}", "{[$low,$low],[$middle,$high]}",
		"{[$middle,$high)}", "{[$again,$middle)}", "{[$low,)}", "{(,$low]}", "{(,$low),($low,)}", "{(,$low),[$middle,)}", "{(,$low],[$high,)}", "{[$high,)}",
		"{[$again,$again]}", "{[$high,$high],[$low,$low]}");
}

my @ranges = (
	[ int4range => 'int4range', qw(-1 1 2147483646 -01) ],
	[ int8range => 'int8range', qw(1 4294967296 4294967297 01) ],
	[ numrange => 'numrange', qw(-1.5 1.5 2.5 -1.50) ],
	[ numrange_signs => 'numrange', qw(-1.5 1 1.5 -1.500) ],
	[ numrange_far => 'numrange', qw(-Infinity 0.0001 Infinity -inf) ],
	[ tsrange => 'tsrange', '2000-01-01', '2000-01-01 01:11:34.967296', '2000-01-01 01:11:34.967297', '2000-01-01 00:00' ],
	[ tsrange_far => 'tsrange', '-infinity', '2000-01-01 00:00:00.000001', 'infinity', '-infinity' ],
	[ tstzrange => 'tstzrange', '2000-01-01+00', '2000-01-01 01:11:34.967296+00', '2000-01-01 01:11:34.967297+00', '2000-01-01 02:00+02' ],
	[ daterange => 'daterange', '1999-12-31', '2000-01-01', '2000-01-02', 'Dec 31 1999' ],
	[ daterange_far => 'daterange', '-infinity', '2000-01-01', 'infinity', '-infinity' ]);
# made here, with the type of their ends
my @made_ranges = (
	[ textrange => 'text', 'a', 'b', 'b ', 'a' ], [ floatrange => 'float8', '-0', '1', 'NaN', '0' ], [ intervalrange => 'interval', '1 day',
	'213503983 days 08:01:49.551616', '213503984 days', '24:00:00' ],
	[ timetzrange => 'timetz', '00:00+00', '01:11:34.967297+00', '02:23:09.934594+00', '00:00-00' ], [ timerange => 'time', '00:00:00.000001',
	'01:11:34.967296', '01:11:34.967297', '00:00:00.0000010' ],
	[ jsonbrange => 'jsonb', '1', '[1]', '[[1]]', '1.0' ], [ arrayrange => 'int[]', '{1,2}', '{2,1}', '{{2,1}}', '[1:2]={1,2}' ], [ paddedrange => 'bpchar',
	'a', 'b', 'ba', 'a ' ]);

sub in_quotes
{
	return map { s/(["\\])/\\$1/gr } @_;
}

sub range_lists
{
	my ($name, $type, $setup, @ends) = @_;
	(my $multi = $type) =~ s/range/multirange/;
	return ({ name => $name, type => $type, setup => $setup, values => [
	ranges_of(in_quotes(@ends)) ] }, { name => $name =~ s/range/multirange/r, type => $multi, values => [ multiranges_of(in_quotes(@ends)) ] });
}

# ---- the lists ----

sub list
{
	my ($name, $values, %rest) = @_;
	return { name => $name, values => $values, %rest };
}

my @labels = ('', ' ', 'a', 'A', 'a ', ' a', 'aa', 'ab', 'ba', 'b', 'ä', 'Ä', 'NULL', 'null', '{}', '"', "a'b", 'a,b', '1', '01', '-1', 'true',
	'a' x 62, 'a' x 63, 'sad', 'ok');
my $labels = join ', ', map { "'" . s/'/''/gr . "'" } @labels;
my @moods = (map { my $l = $_; map { s/"L"/"$l"/gr } '{"L"}', '{"L",NULL}', '{{"L"}}', '[0:0]={"L"}' } qw(a A b ab ok sad));

# With ICU, an ICU collation under which upper and lower case are equal; and values of version 17 and later.
sub key_lists
{
	my ($version, $icu) = @_;
	my @grantees = map { my $rights = $_; map { "$_=$rights" } 'key_a', 'key_b', '' } 'r/key_a', 'r/key_b', 'rw/key_a', 'rw/key_b', 'r*/key_a', 'w/key_b',
	'r*w*/key_a', 'arwdDxt/key_a';

	my @lists = (
		list(boolean => \@boolean), list(smallint => \@int2), list(integer => \@int4), list(bigint => \@int8), list(oid => \@unsigned4), list(xid => \@unsigned4),
		list(cid => \@unsigned4), list(xid8 => \@unsigned8), list(oid8 => \@unsigned8, since => 19),
		list(real => \@real), list('double precision' => \@double), list(numeric => \@numeric), list('numeric(12,4)' => [ qw(0 -0 0.00001 -0.00001 0.00005 1 1.0
		1.00004 1.00005 1.0001 -1 -1.00004 5 -5 10 100 1000 10000 0.1 0.01 0.001 0.0001 -0.0001 99999999.9999 -99999999.9999 NaN) ]),
		list(int2_as_int8 => \@int2, type => 'smallint', also => 'bigint'), list(int4_as_int2 => \@int2, type => 'integer', also => 'smallint'),
		list(int8_as_int4 => \@int4, type => 'bigint', also => 'integer'),
		list(real_as_double => \@real, type => 'real', also => 'double precision'), list(double_as_real => \@real, type => 'double precision', also => 'real'),
		list(text => \@text), list(varchar => \@text), list('character' => \@bpchar, type => 'character(5)'), list(bpchar => \@bpchar), list('"char"' => \@bytes1),
		list(name => \@name), list(bytea => \@bytea), list(uuid => \@uuid),
		list(text_as_name => \@name, type => 'text', also => 'name'), list(name_as_text => \@name, type => 'name', also => 'text'),
		list(char_as_longer => \@bpchar, type => 'character(5)', also => 'character(9)'),
		list(inet => \@inet), list(cidr => \@cidr), list(macaddr => \@macaddr), list(macaddr8 => \@macaddr8),
		list(aclitem => \@grantees, setup => 'CREATE ROLE key_a; CREATE ROLE key_b'),
		list(tid => [ map { my $b = $_; map { "($b,$_)" } 0, 1, 2, 256, 65535 } 0, 1, 65536, 4294967295, 4294901760 ]),
		list(oidvector => [ '', '0', '1', '2', '0 0', '0 1', '1 0', '1 1', '1 2', '2 1', '12', '1 2 3', '1 2 3 4', '4 3 2 1', '4294967295', '4294967295 0',
		'0 4294967295', '65536', '1 65536', '256', '0 0 0', '0 0 0 0' ]),
		list(pg_lsn => [ map { my $h = $_; map { "$h/$_" } qw(0 1 2 10 FFFFFFFE FFFFFFFF) } qw(0 1 2 FFFFFFFF) ]),
		list(date => \@date), list('time without time zone' => \@time), list('time with time zone' => \@timetz),
		list('timestamp without time zone' => \@timestamp), list('timestamp with time zone' => \@timestamptz),
		list(interval => [ @interval, $version >= 17 ? ('infinity', '-infinity') : () ]), list(jsonb => \@jsonb),
		list(enum => \@labels, type => 'key_enum', setup => "CREATE TYPE key_enum AS ENUM ($labels)"),
		list(enum_numbers => [ map { "$_" } 0 .. 25 ], type => 'key_numbers', setup => 'CREATE TYPE key_numbers AS ENUM (' . join(', ', map { "'$_'" } 0 .. 25) . ')'),
		list('integer[]' => \@int_arrays), list('bigint[]' => \@int_arrays), list('text[]' => \@text_arrays), list('numeric[]' => \@numeric_arrays),
		list('timestamptz[]' => \@timestamptz_arrays), list('interval[]' => \@interval_arrays),
		list('jsonb[]' => \@jsonb_arrays), list('float8[]' => \@float_arrays), list('character(5)[]' => \@padded_arrays), list('key_enum[]' => \@moods),
		list(int2vector => [ '', '0', '1', '2', '0 0', '0 1', '1 0', '1 1', '1 2', '2 1', '12', '1 2 3', '32767', '-32768', '-1', '-1 1', '1 -1', '256', '0 256',
		'0 0 0' ]),
		list('int4_array_as_int8' => \@int_arrays, type => 'integer[]', also => 'bigint[]'),
		(map { range_lists($_->[0], $_->[1], undef, @$_[2 .. 5]) } @ranges), (map { range_lists("key_$_->[0]", "key_$_->[0]",
		"CREATE TYPE key_$_->[0] AS RANGE (subtype = $_->[1])", @$_[2 .. 5]) } @made_ranges),
		list(row => \@pairs, type => 'key_pair', setup => 'CREATE TYPE key_pair AS (a int, b text)'),
		list('key_pair[]' => [ map { my $p = s/(["\\])/\\$1/gr; ("{\"$p\"}", "{\"$p\",NULL}", "{{\"$p\"}}") } @pairs[ 0 .. 9 ] ]),
		list(row_mixed => \@mixed, type => 'key_mixed', setup => 'CREATE TYPE key_mixed AS (t timestamp, n numeric, a numeric[], f float8, c "char")'),
		list(row_nested => \@nested, type => 'key_nested', setup => 'CREATE TYPE key_nested AS (p key_pair, a key_pair[])'),
		list(row_dropped => \@pairs, type => 'key_dropped', setup => 'CREATE TABLE key_dropped (a int, gone int, b text); ALTER TABLE key_dropped DROP gone'),
		list(anonymous => \@pairs, type => 'key_pair', key => 'ROW((v).a, (v).b)'),
		list(anonymous_swapped => \@pairs, type => 'key_pair', key => 'ROW((v).b, (v).a, (v).b)'),
		list(anonymous_mixed => \@mixed, type => 'key_mixed', key => 'ROW((v).t, (v).n, (v).a, (v).f, (v).c)'),
		list(anonymous_nested => \@mixed, type => 'key_mixed', key => 'ROW((v).t, ROW((v).n, (v).a), ROW(ROW((v).f), NULL::text))'),
		(map { my ($name, $type, $values) = @$_; list("domain_$name" => $values, type => "key_d_$name", setup => "CREATE DOMAIN key_d_$name AS $type") } [ integer => 'integer', \@int4 ], [ numeric => 'numeric', \@numeric ], [ timestamp => 'timestamp', \@timestamp ],
			[ time => 'time', \@time ], [ interval => 'interval', \@interval ], [ double => 'float8', \@double ], [ text => 'text', \@text ],
			[ padded => 'character(5)', \@bpchar ], [ jsonb => 'jsonb', \@jsonb ], [ enum => 'key_enum', \@labels ], [ array => 'numeric[]', \@numeric_arrays ],
			[ range => 'tsrange', [ ranges_of('2000-01-01', '2000-01-01 01:11:34.967296', '2000-01-01 01:11:34.967297', '2000-01-01') ] ],
			[ multirange => 'nummultirange', [ multiranges_of(qw(-1 1 2 -1.0)) ] ], [ row => 'key_mixed', \@mixed ], [ domain => 'key_d_numeric', \@numeric ]),
		list('key_d_numeric[]' => \@numeric_arrays), list('key_d_array[]' => [ map { "{\"$_\"}" } @numeric_arrays ]));
	push @lists, list(text_icu => \@text, type => 'text COLLATE key_icu', setup => "CREATE COLLATION key_icu (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"), list(char_icu => \@bpchar, type => 'character(5) COLLATE key_icu'),
		list(array_icu => \@text_arrays, type => 'text[] COLLATE key_icu'),
		list(row_icu => \@pairs, type => 'key_icu_pair', setup => 'CREATE TYPE key_icu_pair AS (a int, b text COLLATE key_icu)'),
		list(domain_icu => \@text, type => 'key_d_icu', setup => 'CREATE DOMAIN key_d_icu AS text COLLATE key_icu'), list(range_icu => [ ranges_of('a', 'b', 'B ',
		'A') ], type => 'key_icu_range', setup => 'CREATE TYPE key_icu_range AS RANGE (subtype = text, collation = key_icu)')
		if $icu;
	return grep { ($_->{since} // 0) <= $version } @lists;
}

1;
