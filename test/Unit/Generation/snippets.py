"""Templates of one construct each: every filter, test, method and function of Jinja's, the forms of statements, and what Python does where it surprises."""

SNIPPETS = [line for line in r"""
{{ {1: 'one', 2.0: 'two', true: 'also one', none: 0, (1, 2): 'pair'} }}{{ {1: 'a'}[1] }}{{ {1: 'a'}[1.0] }}{{ {1: 'a'}['1'] is defined }}
{{ {1: 'a'}[1] }}{{ {1: 'a'}.get(true) }}{{ {none: 3}[none] }}{{ 1 in {1.0: 2} }}{{ {(1, 'x'): 2}[(1, 'x')] }}{{ {1: 1, none: 2, true: 3, 2.5: 4} | tojson }}
{{ {[]: 1} }}
{{ [] in {} }}
{{ {(1,): 1} | tojson }}
{{ '{} {1}'.format(1) }}
{{ '{} {} {x}'.format(1, 'a', x=2) }}{{ '{1} {0}'.format('a', 'b') }}{{ '{0.real} {1[0]} {2[k]}'.format(3, [4], {'k': 5}) }}{{ '{{}} {:>5}|{:<5}|{:^5}|{:*^7}'.format(1, 2, 3, 4) }}
{{ '{:05d} {:+} {:,} {:_} {:x} {:#X} {:b} {:o} {:c}'.format(42, 7, 1234567, 1234567, 255, 255, 5, 8, 97) }}{{ '{:.2f} {:e} {:g} {:%} {:10.3f}| {:.3}'.format(3.14159, 12345.678, 0.0001, 0.5, 2.5, 1234.5) }}
{{ '{:010,} {:08.1f} {:=+8} {:<08}'.format(1234, -3.25, 5, 7) }}{{ '{!r} {!s} {!a}'.format('é', 'é', 'é') }}{{ '{:{}}|{:{w}.{p}}'.format('x', 4, 'abcdef', w=6, p=2) }}{{ '{:5}{:5}'.format('a', 1) }}{{ '{} {}'.format(true, none) }}{{ '{:d}'.format(true) }}
{{ '{a.b}'.format(a={'b': 1}) }}{{ '{a[b]}'.format_map({'a': {'b': 2}}) }}{{ '{x}'.format(**{'x': 1}) }}{{ '{:.2}'.format('abc') }}{{ '{:>{}}'.format('a', 3) }}{{ '{:.0f} {:.0f} {:.1f}'.format(0.5, 1.5, 0.25) }}
{{ '{:n} {:G} {:E} {:F}'.format(12, 1e20, 1.5, 2.0) }}{{ '{:} {:}'.format(1.0, 1e100) }}{{ '{:.3} {:.1} {:.2}'.format(10.0, 10.0, 3.0) }}{{ '{:,.2f} {:_x} {:#b}'.format(1234567.891, 1048575, 5) }}
{{ '{'.format() }}
{{ '{.real}'.format(1) }}
{{ '{} {0.real}'.format(1) }}
{{ '{} {0}'.format(1) }}
{{ '}'.format() }}
{{ '{:d}'.format('a') }}
{{ '{:z9}'.format(1) }}
{{ '{:.2d}'.format(1) }}
{{ '{x}'.format() }}
{{ '{0.__class__}'.format(1) }}
{{ '%s %r %d %i %5d|%-5d|%05d %+d % d' % ('a', 'b', 1, 2, 3, 4, 5, 6, 7) }}{{ '%x %X %#x %o %e %E %f %.2f %g %G %c %c %%' % (255, 255, 255, 8, 1.5, 1.5, 2.5, 2.567, 0.00001, 1e20, 'x', 97) }}
{{ '%(a)s %(b)05.1f' % {'a': 1, 'b': 2.25} }}{{ '%s' % [1] }}{{ 'plain' % [] }}{{ '%s' % none }}{{ '%.2s|%5s|%-5s|' % ('abc', 'd', 'e') }}{{ '%*d|%.*f' % (5, 3, 1, 2.55) }}{{ '%a' % 'é' }}{{ '%d %d' % (3.99, true) }}{{ '%s' % undefined_name }}
{{ '%d' % 'a' }}
{{ '%s %s' % 1 }}
{{ '%s' % (1, 2) }}
{{ '%q' % 1 }}
{{ '%x' % 1.5 }}
{{ '%' % 1 }}
{{ 'a,b,c'.rsplit(',', 1) }}{{ ' a  b c '.rsplit(none, 1) }}{{ 'a,b,c'.split(sep=',', maxsplit=1) }}{{ ' a  b c '.split(maxsplit=1) }}{{ 'a,b'.split(sep=none) }}{{ ',a,'.split(',') }}{{ ''.split(',') }}{{ ''.split() }}
{{ 'a'.split('') }}
{{ 'a\nb\r\nc\x0bd\u2028e\n'.splitlines() }}{{ 'a\r\nb'.splitlines(true) }}{{ ''.splitlines() }}{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'abc'.partition('-') }}{{ 'abc'.rpartition('-') }}
{{ 'banana'.count('an') }}{{ 'banana'.count('') }}{{ 'banana'.count('a', 2) }}{{ 'banana'.index('n') }}{{ 'banana'.find('n', 3) }}{{ 'banana'.find('x') }}{{ 'banana'.rfind('a', 0, 5) }}{{ 'banana'.rindex('an') }}{{ ''.find('') }}{{ 'abc'.find('', 9) }}{{ 'abc'.find('c', -1) }}
{{ 'banana'.index('x') }}
{{ 'a'.center(4) }}|{{ 'a'.center(5, '*') }}|{{ 'ab'.center(5) }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }}|{{ '42'.zfill(5) }}{{ '-4'.zfill(4) }}{{ '+4'.zfill(1) }}{{ 'a\tb\n\tc'.expandtabs(4) }}{{ '\t'.expandtabs(0) }}
{{ 'aB'.swapcase() }}{{ 'Straße'.casefold() }}{{ 'ŉ ﬁ ǆ ΐ'.upper() }}{{ 'ΑΣ ΑΣΑ Σ'.lower() }}{{ 'İ'.lower() | length }}{{ 'ǆungla ﬁne'.title() }}{{ 'ǆ'.capitalize() }}{{ 'ΣΑΣ'.capitalize() }}{{ "they're bill's".title() }}
{{ 'a1'.isalnum() }}{{ 'é'.isalpha() }}{{ '1'.isdigit() }}{{ '²'.isdigit() }}{{ '²'.isdecimal() }}{{ '½'.isnumeric() }}{{ '四'.isnumeric() }}{{ 'a'.islower() }}{{ 'A1'.isupper() }}{{ 'Ab Cd'.istitle() }}{{ ' \t'.isspace() }}{{ ''.isspace() }}{{ 'a_1'.isidentifier() }}{{ '1a'.isidentifier() }}{{ 'a\n'.isprintable() }}{{ ''.isprintable() }}{{ 'é'.isascii() }}{{ 'ª'.islower() }}
{{ 'abc'.startswith('b', 1) }}{{ 'abc'.endswith('b', 0, 2) }}{{ 'abc'.startswith(('x', 'a')) }}{{ 'abc'.startswith('') }}{{ 'abc'.endswith('', 5) }}
{{ 'abc'.startswith(['a']) }}
{{ 'abc'.translate({97: 'x', 98: none, 99: 100}) }}{{ 'abc'.maketrans('ab', 'xy') }}{{ 'abc'.translate('abc'.maketrans({'a': '1'})) }}{{ 'abc'.translate(''.maketrans('a', 'b', 'c')) }}
{{ 'x'.join(['a', 'b']) }}{{ ','.join('abc') }}{{ ''.join([]) }}
{{ 'x'.join([1]) }}
{{ 'aXbXc'.replace('X', '-', 1) }}{{ 'abc'.replace('', '-') }}{{ 'abc'.replace('', '-', 2) }}{{ 'xxaxx'.strip('x') }}{{ 'a'.strip(none) }}{{ 'abc'.removeprefix('a').removesuffix('c') }}{{ 'aaa'.replace('aa', 'b') }}
{{ 'abc'.upper.__name__ }}
{{ [1, 2, 1].count(1) }}{{ [1, 2, 1].index(2) }}{{ (1, 2).index(2) }}{{ [1, 2, 1].index(1, 1) }}{{ [1].copy() }}{{ (3, 3).count(3) }}
{{ [1].index(2) }}
{{ [].append(1) }}
{{ {}.update(a=1) }}
{{ {'a': 1}.pop('a') }}
{{ [].append is defined }}{{ {}.update is defined }}{{ 'a'.format is defined }}{{ 'a'.nothing is defined }}{{ [].sort is defined }}
{{ {'a': 1}.items() }}{{ {'a': 1}.keys() }}{{ {'a': 1}.values() }}{{ {'a': 1}.items() | list }}{{ {'a': 1}.copy() }}{{ {}.fromkeys('ab', 0) }}{{ dict.fromkeys('ab') }}{{ {'a': none}.get('a', 1) }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.keys() | length }}{{ ('a', 1) in {'a': 1}.items() }}{{ 'a' in {'a': 1}.keys() }}{{ {'a': 1}.keys() == {'a': 2}.keys() }}
{{ {'a': 1}.items()[0] }}
{{ {'a': 1}.keys() | tojson }}
{{ (5).bit_length() }}{{ (7).bit_count() }}{{ (2.5).is_integer() }}{{ (0.75).as_integer_ratio() }}{{ (3).real }}{{ (3).imag }}{{ (2.0).real }}{{ true.real }}{{ (3).denominator }}{{ (3).conjugate() }}
{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}{{ ['b', 'A'] | min }}{{ ['b', 'A'] | min(case_sensitive=true) }}{{ [] | min }}{{ people | max(attribute='age') }}{{ people | min(attribute='name') }}{{ [1, 1.0] | max }}
{{ [1, 2.5] | sum }}{{ people | sum(attribute='age') }}{{ [] | sum }}{{ [[1], [2]] | sum(start=[0]) }}{{ [1, 2] | sum(start=10) }}{{ (1, 2) | sum }}
{{ ['a'] | sum }}
{{ 42.55 | round }}{{ 42.55 | round(1) }}{{ 42.55 | round(1, 'floor') }}{{ 42.55 | round(1, 'ceil') }}{{ 42 | round }}{{ 2.5 | round }}{{ 3.5 | round }}{{ 1234 | round(-2) }}{{ 1250 | round(-2) }}{{ 1234.5 | round(-2) }}{{ 2.675 | round(2) }}{{ -0.4 | round }}{{ 5 | round(1, 'ceil') }}{{ true | round }}
{{ 1 | round(1, 'x') }}
{{ [1, 2, 3, 4, 5] | batch(2) | list }}{{ [1, 2, 3] | batch(2, 0) | list }}{{ [] | batch(2) | list }}{{ [1, 2, 3, 4, 5] | slice(2) | list }}{{ [1, 2, 3, 4, 5] | slice(3, 'x') | list }}{{ [1] | slice(3) | list }}
{% for name, group in people | groupby('age') %}{{ name }}:{{ group | map(attribute='name') | join(',') }};{% endfor %}{% for g in people | groupby('team', default='none') %}{{ g.grouper }}{{ g.list | length }}{% endfor %}
{{ people | groupby('age') }}{{ (people | groupby('age'))[0].grouper }}{{ [{'k': 'a'}, {'k': 'A'}] | groupby('k') }}{{ [{'k': 'a'}, {'k': 'A'}] | groupby('k', case_sensitive=true) | length }}
{{ 'foo bar baz qux' | truncate(9) }}{{ 'foo bar baz qux' | truncate(9, true) }}{{ 'foo bar baz qux' | truncate(11) }}{{ 'foo bar baz qux' | truncate(11, false, '...', 0) }}{{ 'foobarbaz' | truncate(5, leeway=0) }}{{ 'foobar' | truncate(5, end='', leeway=0, killwords=true) }}
{{ 'abc' | truncate(2) }}
{{ {'a': 1} | truncate(5) }}{{ missing | truncate }}
{{ range(9) | truncate(3, leeway=0) }}
{{ 5 | truncate }}
{{ '<a href="x">&\'' | e }}{{ 5 | e }}{{ '<' | e | e }}{{ '<' | escape | forceescape }}{{ '<' | safe | e }}{{ ('<' | safe) + '<' }}{{ '<' + ('<' | safe) }}{{ ('<%s>' | safe) % '<' }}{{ ('<{}>' | safe).format('<') }}{{ ('<' | safe) ~ '<' }}{{ ('<' | safe) * 2 }}
{{ ('<' | safe).join(['<', '>' | safe]) }}{{ ('a<' | safe).replace('a', '<') }}{{ ('a<b' | safe).split('<') }}{{ [('<' | safe)] }}{{ ('<' | safe) | upper is escaped }}{{ ('<' | safe) | title is escaped }}{{ ('<x' | safe)[1:] is escaped }}{{ ('<' | safe) | string is escaped }}{{ 'a' is escaped }}{{ ('<' | safe) == '<' }}{{ ('%s %r' | safe) % ('<', '<') }}
{{ ('a\nb' | safe) | indent(2) is escaped }}{{ ('<b>' | safe) | length }}{{ ('<' | safe) | tojson }}{{ ('{:>4}' | safe).format('<') }}{{ ('<' | safe).center(5, '*') }}{{ ('<' | safe) | replace('<', '>') is escaped }}{{ ('a' | safe) | trim is escaped }}{{ ('<' | safe).partition('x') }}
{{ 1000 | filesizeformat }}{{ 1 | filesizeformat }}{{ 999 | filesizeformat }}{{ 1234567 | filesizeformat }}{{ 1234567 | filesizeformat(true) }}{{ '3000' | filesizeformat }}{{ 1e30 | filesizeformat }}{{ 0 | filesizeformat }}
{{ 'a b&c/d?é=1' | urlencode }}{{ {'a b': 1, 'c': 'd/e'} | urlencode }}{{ [('x', 1), ('y', '2 3')] | urlencode }}{{ 5 | urlencode }}{{ none | urlencode }}
{{ {'class': 'a "b"', 'x': none, 'y': 1, 'z': missing} | xmlattr }}{{ {'a': 1} | xmlattr(false) }}{{ {} | xmlattr }}
{{ {'a b': 1} | xmlattr }}
{{ "it's a-b (élan) [x] {y} <z>" | title }}{{ 'foo' | center(9) }}|{{ 'FOO bar' | capitalize }}{{ 'Hello, World_1 ½' | wordcount }}{{ 12 | string | length }}{{ ['a', 1] | string }}{{ '%s-%s' | format('a', 1) }}{{ '%(x)s' | format(x=2) }}
{{ 'The quick brown fox jumps over-the-lazy dog--again' | wordwrap(10) }}|{{ 'abcdefghijkl mn' | wordwrap(5) }}|{{ 'abcdefghijkl mn' | wordwrap(5, false) }}|{{ 'a b c d\ne f' | wordwrap(3, wrapstring='/') }}|{{ 'co-operate re-do' | wordwrap(4, break_on_hyphens=false) }}|{{ '' | wordwrap }}
{{ 'a\r\nb\n\nc' | indent(2) }}|{{ 'a\nb' | indent('> ') }}|{{ 'a\n\nb' | indent(2, true, true) }}|{{ 'a\n' | indent }}|{{ '' | indent(first=true) }}
{{ 5 | indent }}
{{ '+5' | int }}{{ '-5' | int }}{{ ' 5 ' | int }}{{ '1_000' | int }}{{ '1__0' | int }}{{ '0x1f' | int(0, 16) }}{{ '1f' | int(0, 16) }}{{ 'z' | int(7) }}{{ '3.9' | int }}{{ 3.9 | int }}{{ -3.9 | int }}{{ '0b101' | int(0, 0) }}{{ '077' | int(0, 0) }}{{ '1e3' | int }}{{ none | int }}{{ [] | int(9) }}{{ true | int }}{{ '٣' | int }}{{ '' | int }}{{ 'nan' | int }}
{{ '1.5' | float }}{{ 'x' | float }}{{ 'x' | float(2) }}{{ ' 1_0.5 ' | float }}{{ '.5' | float }}{{ '5.' | float }}{{ 'inf' | float }}{{ '-Infinity' | float }}{{ 'nan' | float }}{{ '1e400' | float }}{{ none | float }}{{ 3 | float }}{{ '0x10' | float }}
{{ missing | int }}
{{ 9223372036854775807 + 1 }}{{ -9223372036854775808 - 1 }}{{ 2 ** 64 }}{{ 2 ** 200 % 1000 }}{{ 10 ** 30 // 7 }}{{ -(10 ** 30) // 7 }}{{ -(10 ** 30) % 7 }}{{ 10 ** 20 * 10 ** 20 }}{{ 123456789012345678901234567890 }}{{ 2 ** 64 == 18446744073709551616.0 }}{{ 2 ** 64 > 1e19 }}{{ (2 ** 70) | string | length }}{{ '99999999999999999999' | int + 1 }}{{ 2 ** 64 / 2 ** 63 }}{{ -(2 ** 63) }}{{ [2 ** 65] | tojson }}{{ (2 ** 65) | abs }}{{ '%d %x' % (2 ** 65, 2 ** 65) }}{{ '{:,}'.format(2 ** 65) }}{{ 1e25 | int }}
{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1_000 }}{{ 1.5e-3 }}{{ 1e3 }}{{ 00 }}{{ 2 ** -1 }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 5 % -3.0 }}{{ 1 / 3 }}{{ 1e16 }}{{ 1e15 }}{{ 0.1 + 0.2 }}{{ 100.0 }}{{ 1e-5 }}{{ 123456789.123 }}{{ -0.0 }}{{ true + true }}{{ +true }}{{ 3 * true }}{{ 1.0 == 1 }}
{{ 1 / 0 }}
{{ 1 % 0.0 }}
{{ 0 ** -1 }}
{{ 10.0 ** 400 }}
{{ [1, 2] + [3] }}{{ (1, 2) + (3,) }}{{ (1,) * 2 }}{{ [0] * 3 }}{{ 2 * 'ab' }}{{ 'ab' * -1 }}{{ (1, 2)[:1] }}{{ (1, 2) == [1, 2] }}{{ (1, 2) < (1, 3) }}{{ [1, 'a'] < [2, 3] }}{{ 'a' < 'b' < 'c' }}
{{ [1] + (2,) }}
{{ (1,) < [1] }}
{{ range(3) }}{{ range(3) | list }}{{ range(5, 1, -2) | list }}{{ range(3)[1] }}{{ range(10)[2:5] }}{{ range(3) | length }}{{ 2 in range(3) }}{{ range(3) == range(0, 3, 1) }}{{ range(3) | last }}{{ range(0) | first is defined }}{{ range(2) | join('-') }}{{ range(3) | sum }}{{ range(3) | reverse | list }}{{ range(3).index(2) }}{{ range(1, 2).start }}
{{ range(3) | tojson }}
{{ range(3) + [1] }}
{{ range(100001) | length }}
{{ range(100000) | length }}
{{ range('a') }}
{% for x in [[1, [2, [3]]], [4]] recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ '(' ~ loop(x) ~ ')' if x is iterable else x }}{% endfor %}
{% for x in [1, [2]] recursive %}{% if x is number %}{{ x }}{% else %}{% set inner = loop(x) %}<{{ inner }}>{% endif %}{% else %}none{% endfor %}
{% for x in [1] %}{{ loop([2]) }}{% endfor %}
{% for x in [1, 2, 3] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x // 2) }}{{ loop }}{{ loop.previtem is defined }}{{ loop.nextitem }}{% endfor %}{% for x in 'ab' %}{{ loop.index0 }}{{ loop.revindex0 }}{{ loop.last }}{% endfor %}
{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% set a, (b, c) = 1, [2, 3] %}{{ a + b + c }}{% set (x, y) = 'pq' %}{{ y }}{% with (p, q) = (1, 2), r = 3 %}{{ p }}{{ q }}{{ r }}{% endwith %}{% for a, b in [[1, 2]] if b > 1 %}{{ loop.index }}{{ loop.nextitem is defined }}{% endfor %}
{% set a, b = [1] %}
{% set a, b = 5 %}
{% for x in [1, 2] %}{% continue %}{% else %}E{% endfor %}{% for x in [1, 2] %}{% break %}{% else %}E{% endfor %}{% for x in [1, 2] %}{% if loop.last %}{% break %}{% endif %}{% else %}E{% endfor %}{% for x in [] %}{% else %}E{% endfor %}{% for x in [1] if false %}{% else %}E{% endfor %}
{% for x in [1, 2] %}{{ y }}{% set y = x %}{% endfor %}{{ y }}{% set z = 1 %}{% for x in [1, 2] %}{{ z }}{% set z = z + 1 %}{{ z }}{% endfor %}{{ z }}
{% set v = 1 %}{% macro f() %}{{ v }}{% endmacro %}{{ f() }}{% set v = 2 %}{{ f() }}{% for i in [1] %}{% set w = 1 %}{% macro g() %}{{ w }}{% endmacro %}{% set w = 2 %}{{ g() }}{% endfor %}{% macro h() %}{{ people | length }}{% set people = 1 %}{{ people }}{% endmacro %}{{ h() }}
{% macro f() %}{{ people is defined }}{% endmacro %}{{ f() }}{% set people = 1 %}{{ f() }}{% if false %}{% set q = 1 %}{% endif %}{{ q is defined }}{% for x in [1] %}{{ t is defined }}{% endfor %}{% set t = 2 %}
{% macro m(a, b='d') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ m(1, 2, 3, 4) }}{{ m(1, x=5) }}{{ m(*[1, 2], **{'z': 3}) }}{{ m() }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.caller }}
{% macro m(a) %}{{ a is defined }}{{ caller() }}{% endmacro %}{% call m(1) %}x{% endcall %}
{% macro m() %}{{ caller is defined }}{{ caller() }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller(1, b=2) }}{% endmacro %}{% call(a, b, c='z') m() %}{{ a }}{{ b }}{{ c }}{{ varargs is defined }}{% endcall %}
{% macro m() %}{% endmacro %}{{ m(1) }}
{% macro m(a) %}{% endmacro %}{{ m(b=1) }}
{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(b=1, a=2) }}{{ m(1) }}{{ m(1)|length }}{% set f = m %}{{ f(3, 4) }}{{ m is callable }}
{% macro outer(n) %}{% macro inner(k) %}{{ k }}{{ n }}{% if k > 0 %}{{ inner(k - 1) }}{% endif %}{% endmacro %}{{ inner(n) }}{% endmacro %}{{ outer(2) }}{{ outer(1) }}
{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}{% set j = joiner('; ') %}{{ j() }}1{{ j() }}2{% set k = joiner() %}{{ k() }}{{ k() }}
{{ cycler() }}
{% set ns = namespace(a=1) %}{% set ns.b = namespace(c=2) %}{{ ns.b.c }}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns['a'] }}{{ ns.zzz is defined }}{{ namespace({'x': 1}, y=2) }}{% set ns.me = ns %}{{ ns.me.a }}{{ ns is mapping }}
{% set ns = {} %}{% set ns.a = 1 %}
{% set ns = namespace() %}{% set ns.x %}block{% endset %}{{ ns.x }}{% set q | upper %}y{% endset %}{{ q }}
{{ dict(a=1) }}{{ dict([('a', 1), ['b', 2]]) }}{{ dict({'a': 1}, b=2) }}{{ dict(**{'k': 1}) }}{{ dict('ab') }}
{{ dict(a=1) }}{{ dict([('a', 1), ['b', 2]]) }}{{ dict({'a': 1}, b=2) }}{{ dict(**{'k': 1}) }}{{ dict(['ab']) }}
{{ people | none }}
{{ none | selectattr('a') | list }}{{ missing | map('upper') | list }}{{ none | select | list }}{{ none | map(attribute='x') | list }}{{ 0 | select | list }}
{{ 5 | select | list }}
{{ people | map(attribute='tags', default=[]) | list }}{{ people[:1] | map(attribute='tags.0') | list }}{{ ['a', 'b'] | map('upper') | join }}{{ ['a'] | map('replace', 'a', 'b') | first }}{{ [[1, 2], [3]] | map('first') | list }}{{ [[1, 2]] | map(attribute=1) | list }}{{ ['x'] | map('default', 'y') | list }}
{% set unused = ['a'] | map %}never used
{{ ['a'] | map | list }}
{{ ['a'] | map('nothing') | list }}
{{ [1] | map('upper', 1) | list }}
{{ people | selectattr('tags') | map(attribute='name') | list }}{{ people | rejectattr('tags', 'defined') | map(attribute='name') | list }}{{ people | selectattr('age', 'gt', 2) | list | length }}{{ [1, 2, 3] | select('odd') | list }}{{ [1, 2, 3] | reject('divisibleby', 2) | list }}{{ [0, 1] | select | list }}{{ [1, 2] | select('==', 2) | list }}{{ ['a', 'B'] | select('lower') | list }}
{% if people | selectattr('name', 'eq', 'nobody') %}an iterator is true{% endif %}{% set g = [1, 2] | map('string') %}{{ g | join }}{{ g | join }}{% set g = [1, 2, 3] | select %}{{ g | first }}{{ g | list }}{{ (people | map(attribute='x')) is iterable }}{{ ([] | map('x')) is sequence }}
{{ (people | map(attribute='name')) | length }}
{{ ([1] | select)[0] }}
{{ people | sort(attribute='age,name') | map(attribute='name') | list }}{{ people | sort(attribute='age', reverse=true) | map(attribute='name') | list }}{{ ['b', 'A', 'a', 'B'] | sort }}{{ ['b', 'A', 'a'] | sort(case_sensitive=true) }}{{ {'b': 1, 'A': 2} | dictsort }}{{ {'b': 1, 'A': 2} | dictsort(by='value', reverse=true) }}{{ [(2, 'a'), (1, 'b')] | sort }}{{ 'cab' | sort }}{{ [3, 1.5, true] | sort }}
{{ [1, 'a'] | sort }}
{{ {'a': 1} | dictsort(by='x') }}
{{ people | groupby('team.lead', default='none') }}{{ people | map(attribute='team.lead', default='-') | list }}
{{ [1] | sort(none) }}
{{ ['b', 'A', 'a', 'B'] | unique | list }}{{ ['a', 'A'] | unique(true) | list }}{{ people | unique(attribute='age') | map(attribute='name') | list }}{{ [1, 1.0, true, 2] | unique | list }}
{{ [[1]] | unique | list }}
{{ [1, 2] | first }}{{ [] | first }}{{ 'abc' | last }}{{ {'a': 1, 'b': 2} | last }}{{ {'a': 1} | first }}{{ [] | last is defined }}{{ 'abc' | reverse }}{{ [1, 2] | reverse | list }}{{ {'a': 1, 'b': 2} | reverse | list }}{{ missing | first is defined }}{{ missing | last is defined }}
{{ [1] | select | last }}
{{ 5 | first }}
{{ 'abc' | list }}{{ {'a': 1} | list }}{{ (1, 2) | list }}{{ missing | list }}{{ {'a': 1} | items | list }}{{ missing | items | list }}{{ [1, none, 'a'] | join }}{{ [1, 2] | join(3) }}{{ people | join(', ', attribute='name') }}{{ 'abc' | join('-') }}{{ {'a': 1} | length }}{{ 'é' | count }}
{{ [] | items }}{{ [] | items | list }}
{{ 5 | length }}
{{ 'a' | d('b') }}{{ missing | default }}{{ missing | d('x') }}{{ '' | d('x') }}{{ '' | d('x', true) }}{{ none | default('x') }}{{ false | default('x', boolean=true) }}{{ people[9] | default('none') }}{{ people[0].zzz | d(1) }}
{{ people[0] | attr('items') is callable }}{{ people[0] | attr('name') is defined }}{{ 'a' | attr('upper') is defined }}{{ (3) | attr('real') }}{{ -3 | abs }}{{ -3.5 | abs }}{{ true | abs }}
{{ 'a' | abs }}
{{ [1, [missing, none], 'a\'b'] }}{{ [missing] | tojson }}
{{ [missing] }}{{ {'a': missing} }}{{ missing }}{{ missing == other_missing }}{{ missing in [1] }}{{ 1 in missing }}{{ missing ~ 'x' }}{{ missing is callable }}{{ missing is iterable }}{{ missing is sequence }}{{ missing | length }}{{ not missing }}
{{ missing + 1 }}
{{ missing.x }}
{{ missing() }}
{{ missing < 1 }}
{{ -missing }}
{{ people.x.y }}
{{ people[0].x.y }}
{{ {'a': 1}.__class__ }}
{{ ''.__class__ is defined }}
{{ 1 is odd }}{{ 2 is even }}{{ 1.0 is odd }}{{ 6 is divisibleby 3 }}{{ 1 is boolean }}{{ true is boolean }}{{ true is integer }}{{ true is number }}{{ 1 is integer }}{{ 1.5 is float }}{{ 'a' is string }}{{ [] is sequence }}{{ {} is sequence }}{{ 'a' is sequence }}{{ 5 is iterable }}{{ {} is mapping }}{{ none is none }}{{ 1 is true }}{{ false is false }}{{ range is callable }}{{ 'a'.upper is callable }}{{ 'a' is lower }}{{ 'A' is upper }}{{ 1 is lower }}{{ '1' is lower }}
{{ 1 is eq 1 }}{{ 1 is == 1 }}
{{ 1 is eq 1 }}{{ 1 is equalto 1.0 }}{{ 1 is ne 2 }}{{ 1 is lt 2 }}{{ 1 is lessthan 2 }}{{ 1 is le 1 }}{{ 1 is gt 0 }}{{ 1 is greaterthan 0 }}{{ 1 is ge 2 }}{{ 1 is in [1] }}{{ 'a' is in 'abc' }}{{ none is sameas none }}{{ 1 is sameas 1 }}{{ 1 is sameas true }}{{ [] is sameas [] }}{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}{{ 1 is not eq 2 }}{{ 1 is defined and 2 is defined }}{{ x is undefined }}
{{ 'a' is odd }}
{{ 1 is divisibleby 0 }}
{{ [] is filter }}
{{ 'A\101\x41\u0041\U00000041\q\7' | list }}{{ 'it''s' }}{{ "a" 'b' }}{{ '\'' }}{{ "\"\\\n" | length }}
{{ '\x4' }}
{{ 1 if false }}{{ (1 if false) is defined }}{{ 1 if true else 2 }}{{ 1 if 0 else 2 if 0 else 3 }}{{ 1 and 0 or 'x' }}{{ not 1 == 2 }}{{ 1 in [1] and 2 not in [1] }}{{ 1 < 2 < 3 > 2 }}{{ 'a' ~ 1 ~ none ~ true }}{{ (1, 2, 3)[1] }}{{ 'abc'[-1] }}{{ people[0]['name'] }}{{ people.0.name }}{{ [[1, 2]].0.1 }}{{ 'abc'[1:][0] }}{{ {'a': [1]}.a[0] }}{{ [1, 2, 3][::-1] }}{{ 'abc'[::2] }}{{ [1, 2][5:] }}{{ [1, 2, 3][-2:] }}{{ 'abc'[none:2] }}{{ 'abc'[true] }}{{ [1, 2].a is defined }}
{{ (1 if false).x }}
{{ people[0][1:2] }}
{{ people[1.5:] }}
{{ ([1] | map('abs'))[1:] is defined }}
{{ 'a' in 5 }}
{{ 1 in 'a' }}
{{ 5() }}
{{ 'a' + 1 }}
{{ none + 1 }}
{{ -'a' }}
{% raw %}x{% endraw y %}{%- endraw %}
{% set a, = [1] %}
{% print 1, 'a' %}{% raw %}{{ x }}{% endraw %}|{%- raw -%}  {% y %}  {%- endraw -%}|{% block b %}in {{ people | length }}{% endblock %}{{ self.b() }}{% block c scoped %}{% endblock c %}
{% set x = 1 %}{% block b %}{{ x }}{% endblock %}{% for i in [1, 2] %}{% block d scoped %}{{ i }}{% endblock %}{% block e %}{{ i }}{% endblock %}{% endfor %}
{% block a %}{% endblock %}{% block a %}{% endblock %}
{% autoescape true %}{{ '<' }}{{ '<' | safe }}{% set s = '<' | safe %}{{ s ~ '<' }}{{ s + '<' }}{% macro m() %}<{{ '<' }}{% endmacro %}{{ m() }}{% set b %}<{{ '<' }}{% endset %}{{ b }}{{ ['<', '>' | safe] | join('&') }}{{ '<' | replace('<', '>') }}{{ {'a': '<'} | xmlattr }}{% filter upper %}<{{ '<a' }}{% endfilter %}{{ ['<'] | tojson }}{% endautoescape %}{{ '<' }}
{% include 'x' %}
{% import 'x' as y %}
{% from 'x' import y %}
{% extends 'x' %}
{% if false %}{% include 'x' %}{% endif %}fine
{% if false %}{{ 1 | nothing }}{% endif %}fine
{{ 1 | nothing }}
{% for x in [] %}{{ 1 is nothing }}{% endfor %}
{% do x %}
{% break %}
{% set true = 1 %}
{% filter length %}abc{% endfilter %}
{% filter upper %}{% for x in [1, 2] %}a{% break %}{% endfor %}{% endfilter %}{% for x in [1, 2] %}{% set y %}{% break %}{% endset %}{{ x }}{% endfor %}{% with a = 1 %}{{ a }}{% endwith %}{% filter replace('a', 'b') | upper %}aaa{% endfilter %}{% generation %}g{% endgeneration %}
{{ '%s' % ('a',) }}{{ '%s' % ((1, 2),) }}
{{ {'a': 1, **{'b': 2}} }}
{{ strftime_now('%Y-%m-%d %H:%M %f %Z|%z %%f') }}{{ strftime_now('') }}
{{ raise_exception('no') }}
{{ people | tojson(indent=2) }}{{ people | tojson(true, none, none, true) }}{{ {'b': 1, 'a': [true, none, 1.5, 'é\u2028"\\']} | tojson(sort_keys=true) }}{{ {1: 2, 'a': 3} | tojson }}{{ [] | tojson(indent=2) }}{{ {'a': {}} | tojson(indent='\t') }}{{ 1e400 | tojson }}{{ [(1, 2)] | tojson }}{{ 'é' | tojson(ensure_ascii=true) }}{{ '\x7f\x01' | tojson }}
{{ {1: 2, 'a': 3} | tojson(sort_keys=true) }}
{{ people | tojson(separators=',') }}
{{ namespace(a=1) | tojson }}
{{ 'a' 'b' }}{{ [1, 2,] }}{{ (1,) }}{{ () }}{{ {'a': 1,} }}{{ 1, 2 }}{{ dict(a=1,) }}
  {%- if true %}  a  {%- endif %}{#- c -#}  b {{- 'c' -}}  d
{{+ 'a' }}{{ 'b' }}
{{ {'b': 1, 'a': [1, 2]} | pprint }}{{ (people * 2) | pprint }}{{ (['a long text ' * 8, 'b' * 60, (1,)], {'k' * 50: {'x': 'word ' * 12, 2: none}}) | pprint }}{{ ('a long text\n' * 9) | pprint }}{{ [] | pprint }}{{ {'z': 1, 1: 2, none: 3, 'a': 4} | pprint }}
{% for i in [1, 2] %}{% block f scoped %}{{ loop.index }}{{ loop.last }}{% endblock %}{% endfor %}{{ self is defined }}{{ self.nothing is defined }}
{{ (1 | nothing) if false else 'fine' }}{{ [2 if true else 1 is nothing] }}{{ 1 if 1 is number else 2 | nothing }}
{{ 1 | nothing if true else 2 }}
{% if false %}{% for x in [] %}{{ 1 | nothing }}{% endfor %}{% endif %}
{% if false %}{% for x in [] if x is nothing %}{% endfor %}{% endif %}
{% if false %}{% macro m(a=1 | nothing) %}{% endmacro %}{% endif %}
{% if false %}{% set x | nothing %}{% endset %}{% endif %}
{% if false %}{% autoescape 1 is nothing %}{% endautoescape %}{% endif %}
{% if false %}{% with x = 1 | nothing %}{% endwith %}{% for x in 1 | nothing %}{% endfor %}{% endif %}fine
{% for x, in [[1]] %}{% endfor %}
{% for loop in [1] %}{% endfor %}
{% for x in [1] %}{% macro m() %}{% set a, (loop, b) = 1, 2 %}{% endmacro %}{% endfor %}
{% macro m(caller) %}{{ caller }}{% endmacro %}
{% macro m(caller=1) %}{{ caller }}{% endmacro %}{{ m() }}{% macro n(caller) %}{% set caller = 2 %}{{ caller }}{% endmacro %}{{ n(1) }}{% for x in [1], recursive %}{{ x }}{% endfor %}{% set loop = 3 %}{{ loop }}{% with loop = 4 %}{{ loop }}{% endwith %}
{{ 1__0 }}
{{ 1_ }}
{{ 0x1_ }}
{{ 1_0 }}{{ 0x_f_f }}{{ 00_0 }}{{ 01.5 }}{{ 1_0.5_0 }}{{ 1e1_0 }}
{{ {(): 1}[] }}{{ {(1, 2): 3}[1, 2] }}{{ [1, 2, 3][1:][0:1] }}{{ [1, 2, 3][[0, 1][1:][0]] }}
{{ {(1,): 3}[1,] }}
{{ people[1:, 0] }}
{{ people[1:2:3:] }}
{{ {'__a__': 1}.__a__ }}{{ {'__len__': 1}.__len__ is defined }}{{ missing.__class__ is defined }}
a{#
b{% raw -%}
{{ 'a\nb'.splitlines('x') }}
""".split("\n") if line]
