import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { JinjaTemplate, TrustedText } from '../../src/jinja/index.ts';

const NOW = new Date(2026, 6, 9);

function render(source: string, variables: Readonly<Record<string, unknown>> = {}) {
  return new JinjaTemplate(source).render(variables, NOW);
}

/** The reason why a template is refused or fails. */
function reasonOf(source: string, variables: Readonly<Record<string, unknown>> = {}): string {
  try {
    render(source, variables);
  } catch (error) {
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_INVALID') || isRocmforgeError(error, 'CHAT_TEMPLATE_FAILED')) {
      return error.params.reason;
    }
    throw error;
  }
  throw new Error(`${source} renders`);
}

test('what would not end, or grow without bound, is ended with a reason', () => {
  const loops = '{% for a in range(99999) %}'.repeat(3);
  const ends = '{% endfor %}'.repeat(3);
  assert.match(reasonOf(`${loops}${ends}`), /more than \d+ steps/);
  assert.match(
    reasonOf('{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'),
    /nested more than|nested too deeply/,
  );
  assert.match(
    reasonOf(
      "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    ),
    /a text of more than|more than \d+ steps/,
  );
  assert.match(
    reasonOf(
      '{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}',
    ),
    /more than \d+ steps/,
  );
  assert.match(
    reasonOf(
      '{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}',
    ),
    /nested more than/,
  );
  assert.match(
    reasonOf(
      '{% set ns = namespace(t=()) %}{% for i in range(99) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ {ns.t: 1} }}',
    ),
    /a tuple as a key/,
  );
  assert.match(reasonOf('{{ l | slice(10 ** 9) | list }}', { l: [1] }), /more than \d+ steps/);
  assert.match(
    reasonOf("{% for i in range(99999) %}{% set x = s.partition('y') %}{% endfor %}", {
      s: 'x'.repeat(1 << 20),
    }),
    /more than \d+ steps/,
  );
  // Counted again from each of them, the hyphens took hours.
  assert.equal(render('{{ s | wordwrap(9999999) }}', { s: '-'.repeat(1 << 20) }).text.length, 1 << 20);
  assert.match(reasonOf("{{ 'x' * 10 ** 12 }}"), /a text of more than/);
  assert.match(reasonOf("{{ 'x'.ljust(10 ** 12) }}"), /a text of more than/);
  assert.match(reasonOf("{{ '%99999999d' % 1 }}"), /width too big/);
  assert.match(reasonOf('{{ [1] * 10 ** 12 }}'), /more than \d+ steps/);
  assert.match(reasonOf('{{ 10 ** 10000 }}'), /an int of more than/);
  assert.match(reasonOf('{{ range(10 ** 9) }}'), /Range too big/);
  assert.match(reasonOf(`{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`), /nested more than/);
  assert.match(reasonOf('{% if 1 %}'.repeat(5000)), /nested more than/);
  const sum = Array.from({ length: 20_000 }, () => '1').join(' + ');
  assert.equal(render(`{{ ${sum} }}`).text, '20000');
  let deep: unknown = 1;
  for (let i = 0; i < 5000; i++) deep = [deep];
  assert.match(reasonOf('{{ x }}', { x: deep }), /nested more than/);
});

test('a long conversation is no runaway template', () => {
  const text = 'x y '.repeat(1 << 20);
  const source =
    "{% if 'y' in u %}{{ u.strip().lstrip('a').rstrip('b').split('</think>')[-1].replace('q', 'r') | trim }}{% endif %}";
  assert.equal(render(source, { u: text }).text, text.trim());
});

test('a failure tells the line', () => {
  assert.equal(reasonOf('a\nb\n{{ x.y }}'), "line 3: 'x' is undefined");
  assert.equal(reasonOf('a\n{% if %}'), "line 2: Expected an expression, got 'end of statement block'");
  assert.equal(reasonOf("{{ {'a': 1}.b.c }}"), "line 1: 'dict object' has no attribute 'b'");
  assert.equal(reasonOf('\n{{ 1 + "a" }}'), "line 2: unsupported operand type(s) for +: 'int' and 'str'");
  assert.match(reasonOf("{% include 'x' %}"), /^line 1: {% include %} is not supported/);
});

test('no name leads out of the values that a template is given', () => {
  for (const name of [
    'constructor',
    '__proto__',
    'prototype',
    'toString',
    'hasOwnProperty',
    'text',
    'written',
    'items_',
  ]) {
    for (const value of ["'s'", '[1]', '(1,)', '1', '1.5', 'true', 'range(3)', 'namespace()', 'dict']) {
      assert.equal(render(`{{ ${value}.${name} is defined }}`).text, 'False', `${value}.${name}`);
    }
    assert.equal(
      render(`{{ x.${name} is defined }}{{ x['${name}'] is defined }}`, { x: {} }).text,
      'FalseFalse',
    );
    assert.equal(render(`{{ ${name} is defined }}`).text, 'False');
    assert.match(reasonOf(`{{ 1 | ${name} }}`), /No filter named/);
    assert.match(reasonOf(`{{ 1 is ${name} }}`), /No test named/);
  }
  assert.match(reasonOf("{{ ''.__class__.__mro__ }}"), /is unsafe/);
  assert.match(reasonOf("{{ '{0.__class__.x}'.format('') }}"), /is unsafe/);
  const own = { x: JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}') as unknown };
  assert.equal(
    render('{{ x.constructor }}{{ x["__proto__"].a }}{{ x | tojson }}', own).text,
    '21{"__proto__": {"a": 1}, "constructor": 2}',
  );
});

/** The text with what the template wrote in brackets. */
function marked(source: string, variables: Readonly<Record<string, unknown>>): string {
  const { text, written } = render(source, variables);
  let shown = '';
  let at = 0;
  for (let i = 0; i < written.length; i += 2) {
    shown += `${text.slice(at, written[i])}[${text.slice(written[i], written[i + 1])}]`;
    at = written[i + 1] as number;
  }
  return shown + text.slice(at);
}

test('text knows what the template wrote of it, through everything that is done to it', () => {
  const u = { u: ' Ab,cd ', d: { k: 'v"w' }, l: ['x', 'y'], big: '🌍z', role: new TrustedText('user') };
  const cases: readonly (readonly [string, string])[] = [
    ['<{{ u }}>', '[<] Ab,cd [>]'],
    ["{{ '<' + u + '>' }}", '[<] Ab,cd [>]'],
    ["{{ '<' ~ u | trim ~ '>' }}", '[<]Ab,cd[>]'],
    ["{{ ('<' ~ u ~ '>')[1:4] ~ '<'[0] }}", ' Ab[<]'],
    ["{{ ('<' ~ u) | upper }}{{ ('<' ~ u) | title }}", '[<] AB,CD [<] Ab,cd '],
    ["{{ ('<' ~ u ~ '>').split(',') | join('|') }}", '[<] Ab[|]cd [>]'],
    ["{{ u.replace(',', '<') }}{{ u | replace('A', '>') }}", ' Ab[<]cd  [>]b,cd '],
    ["{{ '<' | replace('<', u) }}", ' Ab,cd '],
    ["{{ '<%s>' % u }}{{ '<{}>'.format(u) }}{{ '<%s>' | format(u) }}", '[<] Ab,cd [><] Ab,cd [><] Ab,cd [>]'],
    ["{{ u.format('<') }}{{ u % () }}", ' Ab,cd  Ab,cd '],
    ['{{ d | tojson }}', '{"k": "v\\"w"}'],
    ["{{ {'<': u} | tojson }}", '{"[<]": " Ab,cd "}'],
    ['{{ l }}{{ d }}', "['x', 'y']{'k': 'v\"w'}"],
    ["{{ ['<', u] }}", "['[<]', ' Ab,cd ']"],
    ["{{ l | join('<') }}{{ '<'.join(l) }}", 'x[<]yx[<]y'],
    [
      '{% set x %}<{{ u }}>{% endset %}{{ x }}{% filter upper %}a{{ u }}{% endfilter %}',
      '[<] Ab,cd [>A] AB,CD ',
    ],
    [
      '{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m(u) %}!{{ u }}{% endcall %}',
      '[<] Ab,cd [!] Ab,cd [>]',
    ],
    ["{{ ('<' ~ big ~ '>') | reverse }}{{ ('<' ~ big)[1] }}{{ big | list | last }}", '[>]z🌍[<]🌍z'],
    ["{{ ('<\\n' ~ u) | indent(1) }}{{ u | center(9) }}", '[<\n ] Ab,cd   Ab,cd  '],
    ["{{ ('<' ~ u) | e }}{{ '%c' % 60 }}{{ '{:c}'.format(60) }}", '[&lt;] Ab,cd <<'],
    ["{{ '<|' + role + '|>' }}", '[<|user|>]'],
    ['{% for c in u %}{{ c }}{% endfor %}', ' Ab,cd '],
    ["{{ u | default('<') }}{{ none_such | default('<') }}", ' Ab,cd [<]'],
  ];
  for (const [source, expected] of cases) assert.equal(marked(source, u), expected, source);
});
