r"""Small templates and what Python's Jinja2 makes of them.

    python3 scripts/jinja/expressions.py [test-jinja.cpp]

writes tests/fixtures/jinja/expressions.json, and with llama.cpp's tests/test-jinja.cpp also llama-cases.json: its cases whose
expectation is Python's.
"""

import json
import sys
from pathlib import Path

from environment import make_environment, render

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "jinja"

VARIABLES = {
    "s": "  Hello, World! ",
    "t": "a-b_c d\te\nf",
    "u": "ß ŉ İstanbul 你好 🌍🌍 e\u0301 \u00a0x",
    "q": "it's \"quoted\" \\ \n\t\x07 \u200b é",
    "h": "<b>&'\"</b>",
    "csv": "a,b,,c,",
    "lines": "one\ntwo\r\nthree\n\n  four",
    "long": "The quick brown fox jumps over the lazy-dog again and-again, supercalifragilisticexpialidocious end",
    "e": "",
    "n": None,
    "yes": True,
    "no": False,
    "i": 42,
    "neg": -7,
    "big": 12345678901234567890123,
    "f": 3.14159,
    "half": 2.5,
    "tiny": 1e-7,
    "huge": 1e22,
    "l": [3, 1, 2],
    "ls": ["b", "A", "c", "B"],
    "mixed": [1, 1.0, True, None, "x", [2], {"k": 1}],
    "nested": [[1, [2, 3]], {"a": {"b": [10, 20]}}],
    "d": {"b": 1, "A": 2, "c": {"x": None, "y": [1.5, "z"]}, "items": "shadow", "get": 5},
    "users": [
        {"name": "Ann", "age": 30, "tags": ["x", "y"], "on": True},
        {"name": "bob", "age": 25, "tags": [], "on": False},
        {"name": "Cid", "age": 30, "tags": ["y"], "on": True},
    ],
    "el": [],
    "ed": {},
}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2
-2 ** 2
2 ** -1
2 ** 0.5
7 // 2
-7 // 2
7 % -3
-7 % 3
7.5 // 2
-7.5 % 2
7 / 2
6 / 2
1 / 0
1 // 0
1 % 0
1.5 % 0
i + f
big + 1
big * big
big // 7
big % 1000
2 ** 100
10 ** 20 / 3
1e300 * 1e10
true + true
true * 3
'a' * 3
3 * 'ab'
'a' * -1
[1] * 2
l + [4]
(1, 2) + (3,)
l + (1,)
'a' + 1
1 + 'a'
'a' ~ 1 ~ none ~ true ~ 1.0
s + n
undefined_thing
undefined_thing + 1
undefined_thing.x
undefined_thing['x']
undefined_thing()
undefined_thing | length
undefined_thing == undefined_other
undefined_thing == none
not undefined_thing
undefined_thing in l
undefined_thing < 1
-undefined_thing
undefined_thing ~ 'x'
[undefined_thing]
d.missing
d.missing.more
d['missing']
d['b']
d.b
d.items
d['items']
d.get
d.get('b')
d.get('zz')
d.get('zz', 7)
d.get('c').x
d.c.y[1]
d.keys()
d.keys() | list
d.values() | list
d.items() | list
d.copy()
d.pop('b')
d.update({})
d.clear
d.__class__
d._private
s.__class__
s._x
l.append(1)
l.pop()
l.sort()
l.index(1)
l.index(9)
l.count(3)
l.copy()
l[0]
l[-1]
l[9]
l['x']
l.0
l[true]
l[1:]
l[:-1]
l[::-1]
l[::2]
l[5:]
l[-2:]
l[1:0]
l[::0]
(1,2,3)[1:]
range(10)[2:8:2]
range(5)[1]
s[0]
s[2:5]
s[::-1]
u[-1]
u[::2]
u[9:14]
u | length
u | upper
u | lower
u | title
u | capitalize
u | reverse
u | list
u.swapcase()
u.title()
u.split()
u.index('好')
u.find('zz')
u.center(40, '*')
none[0]
none.x
none[1:]
5[0]
i.x
i.real
i.bit_length()
f.is_integer()
true.real
1 < 2 < 3
1 < 2 > 3
3 > 2 >= 2 != 1
1 == 1.0
1 == true
0 == false
'1' == 1
none == false
l == [3, 1, 2]
(1, 2) == [1, 2]
d == d.copy()
'a' < 'b'
'a' < 'B'
'😀' < '\ue000'
[1, 2] < [1, 3]
(1,) < (1, 0)
1 < 'a'
none < 1
l < d
'ell' in s
1 in l
'b' in d
'x' not in l
none in mixed
[2] in mixed
1 in 'a1'
'x' in none
'a' in 5
not 1 == 2
not not 1
1 and 0
0 or 'x'
'' or none or el
1 if yes
1 if no
1 if no else 2
(1 if no) is defined
1 if no else 2 if no else 3
yes and 'a' or 'b'
i is number
i is integer
f is float
yes is integer
yes is number
yes is boolean
none is none
n is none
s is string
l is iterable
s is iterable
i is iterable
undefined_thing is iterable
l is sequence
d is sequence
s is sequence
d is mapping
l is mapping
range(3) is sequence
d.items() is sequence
d.items() is iterable
undefined_thing is sequence
undefined_thing is defined
undefined_thing is undefined
d.zz is defined
i is even
i is odd
neg is odd
i is divisibleby 7
i is divisibleby(5)
i is eq 42
i is equalto(42)
i is ne 41
i is lt 43
i is gt(41)
i is ge 42
i is in [42]
i is not in [42]
i is sameas i
s is lower
'abc' is lower
'ABC' is upper
'' is lower
yes is true
yes is false
1 is true
h is escaped
(h|safe) is escaped
range is callable
d.get is callable
s is callable
'upper' is filter
'nope' is filter
'even' is test
s is not string
i is string and true
i is nosuchtest
i is divisibleby 0
s.strip()
s.lstrip()
s.rstrip()
s.strip(' H!')
s.lstrip('\n')
'\n\n x'.lstrip('\n')
'xxabcxx'.strip('x')
s.upper()
s.lower()
s.title()
"they're bill's o'neil".title()
s.capitalize()
csv.split(',')
csv.split(',', 1)
csv.split(',', maxsplit=2)
csv.rsplit(',', 1)
csv.rsplit(',', 2)
csv.split('')
t.split()
t.split(None, 1)
t.rsplit(none, 2)
t.split('-')[0]
lines.splitlines()
lines.splitlines(true)
'a\x0bb\x0cc\x1cd\x85e\u2028f'.splitlines()
csv.partition(',')
csv.rpartition(',')
csv.partition('zz')
csv.rpartition('zz')
csv.replace(',', ';')
csv.replace(',', ';', 2)
csv.replace('', '.')
'abc'.replace('', '-', 2)
csv.count(',')
'aaa'.count('aa')
'aaa'.count('')
s.find('o')
s.rfind('o')
s.index('zz')
s.find('o', 7)
s.find('', 100)
s.startswith('  He')
s.startswith(('x', '  '))
s.startswith('He', 2)
s.endswith('! ')
s.endswith(1)
'abc'.removeprefix('a')
'abc'.removesuffix('c')
'-'.join(ls)
'-'.join(l)
'-'.join('abc')
'ab'.center(7, '*')
'ab'.center(6, '*')
'abc'.center(6)
'abc'.ljust(6, '.')
'abc'.rjust(6, '.')
'42'.zfill(5)
'-42'.zfill(5)
'a\tb'.expandtabs(4)
'aBc'.swapcase()
'abc'.isalpha()
'a1'.isalnum()
'12'.isdigit()
'²'.isdigit()
'²'.isdecimal()
'½'.isnumeric()
''.isalpha()
' \t'.isspace()
'Ab Cd'.istitle()
'AB1'.isupper()
'ab1'.islower()
'1'.isupper()
'a_1'.isidentifier()
'é'.isascii()
'a\n'.isprintable()
'Straße'.casefold()
'{} and {}'.format(1, 'x')
'{1} {0} {1}'.format('a', 'b')
'{a} {b[0]} {c.x}'.format(a=1, b=l, c={'x': 2})
'{:>8}|{:<8}|{:^8}|'.format('r', 'l', 'c')
'{:*^9}'.format('mid')
'{:05d} {:+d} {:x} {:X} {:b} {:o} {:#x}'.format(42, 42, 255, 255, 5, 8, 255)
'{:,} {:_}'.format(1234567, 1234567)
'{:.2f} {:.0f} {:e} {:.3g} {:%}'.format(3.14159, 2.5, 12345.678, 0.00012345, 0.256)
'{:10.3f}|{:<10.2e}|{:+.1f}'.format(3.14159, 31415.9, 2.25)
'{!r} {!s}'.format('a', 'b')
'{{}} {}'.format(1)
'{} {}'.format(1)
'{a}'.format(b=1)
'{:d}'.format('x')
'{:>{w}}'.format('x', w=5)
'{0.name}'.format(users[0])
'{0.__class__}'.format(s)
'{:g} {:g} {:g}'.format(1e10, 1e-5, 100000)
'{} {} {}'.format(1.0, none, true)
'{x}'.format_map({'x': 1})
'%s %d %r' % ('a', 3, 'b')
'%s' % 'x'
'%s' % l
'%5.1f|%-8s|%08.3f|%+d' % (3.14159, 'ab', 2.5, 7)
'%x %X %o %e %g' % (255, 255, 8, 12345.678, 0.0001)
'%(a)s-%(b)03d' % {'a': 1, 'b': 2}
'%d%%' % 50
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%d' % 'x'
'%c%c' % ('a', 98)
'%.3s|%10.2s|' % ('abcdef', 'xyz')
mixed
nested
d
q
[q]
[u]
['it\'s', "say \"x\"", 'both \' and "']
{'a': 1, 2: [3.0], (1, 'x'): none}
{1: 'a', 1.0: 'b', true: 'c'}
{[]: 1}
(1,)
()
1.0
100000000000000000.0
1e16
1e15
123456789012345680.0
0.1 + 0.2
1e-5
0.0001
-0.0
f
tiny
huge
1e400
range(3)
range(1, 10, 3)
range(3) | list
range(1000000)
range('a')
range(5, 0, -2) | list
dict(a=1, b=2)
dict(d, z=1) | length
dict([('a', 1)])
namespace(a=1).a
namespace()
(namespace(x=1).y) is defined
h
h | e
h | escape
h | safe
(h | safe) + '<i>'
'<i>' + (h | safe)
(h | e) + h
(h | safe) ~ '<i>'
[h | safe]
h | forceescape
(h | safe) | upper
(h | safe).replace('b', '<')
'%s' | safe % h
('%s' | safe) % h
('{}' | safe).format(h)
('<' | safe).join(['<', '>'])
h | e | e
h | striptags
h | string
(h | e) | string
s | trim
s | trim(' H')
csv | trim(',')
n | string
n | trim
i | string
l | string
yes | string
n | upper
s | lower
s | title
'foo-bar (baz) [qux] <x> {y} it\'s' | title
s | capitalize
s | center(30)
s | wordcount
'x' | indent
lines | indent
lines | indent(2, true)
lines | indent('> ', first=true, blank=true)
lines | indent(width=1, blank=true)
long | truncate(20)
long | truncate(20, true)
long | truncate(20, false, '!', 0)
long | truncate(90)
'short' | truncate(3)
long | wordwrap(20)
long | wordwrap(10, false)
long | wordwrap(15, true, '|')
csv | replace(',', ';')
csv | replace(',', ';', 1)
i | replace('4', '5')
l | join
l | join(', ')
users | join(', ', attribute='name')
d | join('-')
'abc' | join('.')
n | join
l | first
el | first
s | first
l | last
el | last
'abc' | last
d | first
d | last
l | length
d | length
i | length
n | length
l | count
l | sort
ls | sort
ls | sort(case_sensitive=true)
ls | sort(reverse=true)
users | sort(attribute='age') | map(attribute='name') | list
users | sort(attribute='age,name', reverse=true) | map(attribute='name') | list
mixed | sort
d | dictsort
{'b': 1, 'A': 2} | dictsort
{'b': 1, 'A': 2} | dictsort(true)
{'b': 1, 'A': 2} | dictsort(by='value')
{'b': 1, 'A': 2} | dictsort(reverse=true)
l | reverse | list
'abc' | reverse
l | min
l | max
el | min
ls | min
ls | max(case_sensitive=true)
users | max(attribute='age')
l | sum
users | sum(attribute='age')
[[1], [2]] | sum(start=[])
ls | sum
[1.5, 2] | sum
l | list
s | list | length
d | list
n | list
ls | unique | list
ls | unique(case_sensitive=true) | list
users | unique(attribute='age') | map(attribute='name') | list
users | map(attribute='name') | list
users | map(attribute='tags.0') | list
users | map(attribute='tags.0', default='none') | list
users | map(attribute='zz', default='d') | list
ls | map('upper') | list
ls | map('replace', 'b', 'X') | list
l | map('string') | join
l | map('nope') | list
l | map
users | selectattr('on') | map(attribute='name') | list
users | rejectattr('on') | map(attribute='name') | list
users | selectattr('age', 'equalto', 30) | list | length
users | selectattr('age', '>', 25) | map(attribute='name') | join(',')
users | selectattr('zz', 'defined') | list
users | rejectattr('zz', 'defined') | list | length
users | selectattr('zz') | list
users | selectattr
n | selectattr('x') | list
l | select('odd') | list
l | reject('odd') | list
l | select('>', 1) | list
mixed | select | list
mixed | select('string') | list
l | select
l | map('string')
l | batch(2) | list
l | batch(2, 'x') | list
range(7) | slice(3) | list
range(7) | slice(3, 'x') | list
users | groupby('age') | list | length
users | groupby('age') | map(attribute='grouper') | list
users | groupby('age') | map('first') | list
users | groupby('zz', default=0) | map(attribute='list') | map('length') | list
(users | groupby('age'))[0].list | map(attribute='name') | list
f | round
half | round
3.5 | round
-2.5 | round
f | round(2)
2.675 | round(2)
1.005 | round(2)
i | round
i | round(-1)
1234.5 | round(-2)
f | round(1, 'ceil')
f | round(1, 'floor')
i | round(0, 'ceil')
f | round(method='nope')
s | round
f | int
'42' | int
'42.9' | int
' 42 ' | int
'x' | int
'x' | int(7)
'0x1f' | int(base=16)
'ff' | int(0, 16)
'0b101' | int(0, 0)
'1_000' | int
'1e3' | int
n | int
yes | int
huge | int
'inf' | int
el | int(5)
'3.5' | float
'x' | float
'x' | float(1.5)
' 1e3 ' | float
i | float
n | float
'nan' | float
neg | abs
-1.5 | abs
s | abs
123 | filesizeformat
1 | filesizeformat
1234567 | filesizeformat
1234567 | filesizeformat(true)
n | default('x')
undefined_thing | default('x')
undefined_thing | d
e | default('x')
e | default('x', true)
e | default('x', boolean=true)
d.zz | default(none)
d.zz.y | default('x')
d | attr('b')
users[0] | attr('name')
s | attr('upper')
d | items | list
undefined_thing | items | list
l | items | list
s | urlencode
{'a b': 'c&d', 'e': 1} | urlencode
'/x y/ü?' | urlencode
{'class': 'a b', 'id': none, 'x': '<'} | xmlattr
{'a b': 1} | xmlattr
l | pprint
q | pprint
d | tojson
mixed | tojson
q | tojson
u | tojson
u | tojson(ensure_ascii=true)
d | tojson(indent=2)
d | tojson(indent=none)
el | tojson(indent=2)
[el, ed, [1]] | tojson(indent=1)
d | tojson(separators=(',', ':'))
d | tojson(sort_keys=true)
d | tojson(indent='--', separators=(', ', ': '))
{1: 2, none: 3, true: 4, 1.5: 5} | tojson
{(1, 2): 3} | tojson
(1, 2) | tojson
undefined_thing | tojson
range(3) | tojson
d.items() | tojson
namespace() | tojson
big | tojson
1e400 | tojson
-0.0 | tojson
'/</script>' | tojson
'\u2028\x7f\ud83d' | tojson
h | tojson | safe
l | nosuchfilter
l | nosuchfilter if no else 'fine'
s|trim|upper ~ 'x'|lower
-1 | abs
(-1) | abs
not l | length
1 + 2 | string
'a' 'b' "c"
'\x41\u00e9\U0001F600\101\n\'\"\\\d'
"a\
b"
0x1F + 0b11 + 0o17 + 1_000
1_0.5_0
.5
1.
1.e3
1,2
[1,2,]
{'a':1,}
f(
'abc
a..b
l[
{{}}
a is
not
loop
loop.index
self
varargs
caller()
lipsum()
strftime_now('%Y-%m-%d %H:%M:%S %j %A %B %b %a %y %I %p %d %m %% %e %F %T %D %R %u %w %h %C')
strftime_now('%-d %-m %-H %-I %U %W %V %G %Z|%z|%n|%t|%k|%l|%P|%c|%x|%X')
raise_exception('no ' ~ i)
raise_exception()
joiner(', ')() ~ 'x'
cycler('a', 'b').next()
cycler()
d.items()|map('first')|list
users|map(attribute='name')|map('lower')|select('in', ['bob','cid'])|list
(l|sort)[0]
l|sort|first
users[0].tags|join('+')|upper
users|length > 2 and 'many' or 'few'
'%s-%s'|format(1, 2)
'%(a)s'|format(a=1)
'%s'|format(1, a=2)
s.upper
d.get('b', default=1)
s.split(sep=',')
s.strip(chars='x')
s.nosuch()
s.nosuch
i()
'abc'()
l[0](1)
d.c.x.y
users[0]['tags'][0]|upper
users[-1].name[0]|lower
{'a': 1}.a
[1, 2][0]
'abc'[1]
(1, 2)|length
'a'|upper|lower|upper
dict(**{'a': 1})
dict(*[[('a', 1)]])
range(*[1, 4])|list
'{}{}'.format(*['a', 'b'])
'{x}'.format(**{'x': 1})
-100 // tiny
1e16 // f
-1.0 // 3
0.0 // -2
1 // 0.1
'ΑΣ ΑΣ. Σ İΑΣ'.lower()
'ΑΣ İΑΣ'.capitalize()
'ΑΣ İΑΣ'.title()
'αΣ İΑΣ'.swapcase()
'ΑΣ İ ﬁ ŉ ẞ ı ς'.casefold()
'١٢٣' | int
'𝟙𝟚' | int(base=16)
'१.५' | float
'12.5e1' | int(0, 37)
'12' | int(7, 'x')
'x' | int(7, 1)
undefined_thing is callable
'x' % undefined_thing
'x' % l
csv.rsplit(',', 99)
t.rsplit(none, 99)
t.rsplit(none, 0)
' a b '.rsplit(none, 1)
q | wordwrap(5)
q | wordwrap(5, break_on_hyphens=false)
'a-b--c —d-' | wordwrap(1)
'well-known---and --x- y--' | wordwrap(6)
' 1_0 ' | wordwrap(1)
""".strip("\n").replace("a\\\nb", "a\\\x00b").split("\n")

TEMPLATES = [
    "{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1,1,2,2,1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in el %}x{% else %}none{% endfor %}",
    "{% for x in undefined_thing %}x{% else %}none{% endfor %}",
    "{% for x in n %}x{% endfor %}",
    "{% for x in i %}x{% endfor %}",
    "{% for c in 'a🌍b' %}[{{ c }}]{% endfor %}",
    "{% for k in d %}{{ k }} {% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a, b in [1] %}{{ a }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in l if loop.index %}{{ x }}{% endfor %}",
    "{% for x in l recursive %}{{ x }}{% endfor %}",
    "{% for x in [[1, [2, 3]], 4] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}:{{ loop.depth }} {% endif %}{% endfor %}",
    "{% for x in l %}{{ loop(l) }}{% endfor %}",
    "{% for x in range(9) %}{% if x == 3 %}{% continue %}{% endif %}{% if x == 6 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}else{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}else{% endfor %}",
    "{% break %}",
    "{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{{ ns.a }}{% set ns.a = none %}{{ ns.a }}{{ ns.a is none }}",
    "{% set d.x = 1 %}",
    "{% set q.x = 1 %}",
    "{% if yes %}{% set x = 1 %}{% endif %}{{ x }}",
    "{% if no %}{% set i = 1 %}{% endif %}{{ i }}",
    "{% set a, b = 1, 2 %}{{ b }}{{ a }}",
    "{% set (a, b) = [1, 2] %}{{ b }}{{ a }}",
    "{% set a = b = 1 %}",
    "{% set x %}text {{ i }}{% endset %}[{{ x }}]",
    "{% set x | upper | trim %} text {{ i }} {% endset %}[{{ x }}]",
    "{% set x | replace('t', 'T') %}text{% endset %}[{{ x }}]",
    "{% filter upper %}a{{ i }}b{% endfilter %}",
    "{% filter replace('a', 'b')|upper %}banana{% endfilter %}",
    "{% with a = 1, b = i %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% set a = 5 %}{% with a = 1, b = a %}{{ a }}{{ b }}{% set a = 9 %}{% endwith %}{{ a }}",
    "{% macro m(a, b=2, c='x') %}[{{ a }}|{{ b }}|{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, c=4) }}{{ m(b=5, a=6) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, z=4) }}",
    "{% macro m(a, b=a ~ '!') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}",
    "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
    "{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(3) %}got {{ y }}{% endcall %}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in {{ i }}{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %},{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}",
    "{% macro m() %}{% set x = 1 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m(a, b) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% if no %}a{% elif n %}b{% elif i %}c{% else %}d{% endif %}",
    "{% if el %}a{% else %}b{% endif %}{% if undefined_thing %}a{% endif %}{% if d %}c{% endif %}",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "{%- raw -%}  {{ x }}  {%- endraw -%}  y",
    "a {# comment {{ x }} #} b",
    "a\n{# comment #}\nb\n",
    "a  {#- c -#}  b",
    "  {% if yes %}  \n  x  \n  {% endif %}  \n y",
    "  {%- if yes -%}  \n  x  \n  {%- endif -%}  \n y",
    "  {%+ if yes %}x{% endif +%}\n y",
    "a\n  {% if yes +%}\n  x\n  {%+ endif %}\n",
    "a {{- ' b ' -}} c",
    "{{ 'a' }}\n\n{{ 'b' }}\n",
    "{{ 'a' }}\n",
    "x\r\ny\rz\n\n",
    "{% if yes %}\n\nx\n{% endif %}\n\n",
    "\n\n{% set x = 1 %}\n\n{{ x }}",
    "{% print 1, 2 %}",
    "{% block a %}x{{ i }}{% endblock %}",
    "{% for x in l %}{% block b scoped %}{{ x }}{% endblock %}{% endfor %}",
    "{% for x in l %}{% block b %}{{ x }}{% endblock %}{% endfor %}",
    "{% block a %}x{% endblock a %}",
    "{% generation %}text {{ i }}{% set z = 1 %}{% endgeneration %}{{ z }}",
    "{% do 1 %}",
    "{% nope %}",
    "{% endif %}",
    "{% if yes %}",
    "{% for x in l %}{% endif %}",
    "{{ 1",
    "{% if 1 %}{{ }}{% endif %}",
    "{# open",
    "{% raw %}x",
    "{{ 'a' if yes else 'b' }}{{ 'a' if no }}",
    "{{ (1, 2) }}{{ 1, 2 }}{{ () }}",
    "{% for x in l|map('string') %}{{ x }}{{ loop.length }}{% endfor %}",
    "{% for x in l|select('odd') %}{{ x }}{{ loop.last }}{{ loop.index }}{% endfor %}",
    "{% set g = l|select('odd') %}{{ g|list }}{{ g|list }}",
    "{% set g = l|map('string') %}{% if g %}true{% endif %}{{ g|join }}{{ g|join }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}",
    "{% set j = joiner('-') %}{{ j() }}a{{ j() }}b{{ j() }}c",
    "{% set x = [] %}{% for i in l %}{% set x = x + [i] %}{% endfor %}{{ x }}",
    "{% for u in users %}{{ u.name }}:{% for t in u.tags %}{{ loop.index }}{{ t }}{% else %}-{% endfor %};{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }}|{% endfor %}",
    "{% set loop = 5 %}{{ loop }}",
    "{{ {'a': {'b': [1, 2, {'c': 'd'}]}}.a.b[2].c }}",
    "{{ users | map(attribute='name') | join(', ') | upper }}",
    "{{- 1 }}{{ 2 -}}  ",
    "{{ {} }}{{ {'a': {}}}}",
    "{% if 'x' in undefined_thing %}a{% else %}b{% endif %}",
    "{{ 'a' ~ {'b': 1} ~ [1] ~ (1,) }}",
    "{% set m = 'x' %}{% macro f() %}{{ m }}{% endmacro %}{% for m in l %}{{ f() }}{% endfor %}",
    "{% for loop in l %}{{ loop }}{% endfor %}",
    "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% for x in l %}{% with loop = 1 %}{{ loop }}{% endwith %}{% endfor %}",
    "{% for x in el %}{% macro m(loop) %}{% endmacro %}{% else %}{% set loop = 1 %}{% endfor %}",
    "{% macro m(a, a) %}{% endmacro %}",
    "{% block a %}x{% endblock %}{% block a %}y{% endblock %}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
]

# What this project refuses although Python does not, each with its reason.
SKIPPED = {
    "lipsum()": "random text",
    "l | select": "prints an address",
    "l | map('string')": "prints an address",
    "s.upper": "prints an address",
    "d.get": "prints an address",
    "d.items": "prints an address",
    "self": "prints an address",
    "l | map": "prints an address",
    "users | selectattr": "prints an address",
    "s | attr('upper')": "prints an address",
    "none[1:]": "Jinja2 computes constants before it renders, where a slice of None is undefined; of a variable it fails",
}


def cases():
    for expression in EXPRESSIONS:
        expression = expression.replace("\x00", "\n")
        if expression not in SKIPPED:
            yield "{{ " + expression + " }}"
    yield from TEMPLATES


def main():
    environment = make_environment()
    found = []
    for template in cases():
        how, text = render(environment, template, VARIABLES)
        found.append({"template": template, how: text})
    value = {"variables": {name: json.dumps(item) for name, item in VARIABLES.items()}, "cases": found}
    write("expressions.json", value)
    if len(sys.argv) > 1:
        from llama_cases import cases_of

        kept = []
        for name, template, variables, expected in cases_of(Path(sys.argv[1]).read_text(encoding="utf-8")):
            how, text = render(environment, template, variables)
            if how == "text" and text == expected:
                kept.append({"name": name, "template": template, "variables": json.dumps(variables), "text": text})
            else:
                print(f"not Python's: {name}: {how} {text!r}, expected {expected!r}")
        print(len(kept), "cases are Python's")
        write("llama-cases.json", kept)


def write(name, value):
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), indent=0)
    (FIXTURES / name).write_text(text + "\n", encoding="utf-8")


main()
