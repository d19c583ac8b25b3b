import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { type Grammar, matchesGrammar, type Regex, type Rule } from '../../src/grammar/index.ts';
import { NaiveRecognizer, smallGrammar } from '../support/grammar/naive-grammar.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

const text = (of: string): Rule => ({ kind: 'regex', regex: { kind: 'text', text: of } });
const regex = (of: Regex): Rule => ({ kind: 'regex', regex: of });
const named = (name: string): Rule => ({ kind: 'reference', name });
const sequence = (...parts: Rule[]): Rule => ({ kind: 'sequence', parts });
const choice = (...parts: Rule[]): Rule => ({ kind: 'choice', parts });
const repeat = (part: Rule, min: number, max: number): Rule => ({ kind: 'repeat', part, min, max });
const grammar = (rules: Record<string, Rule>): Grammar => ({
  root: 'root',
  rules: new Map(Object.entries(rules)),
});
const letters: Regex = {
  kind: 'repeat',
  part: { kind: 'set', ranges: [[0x61, 0x7a]] },
  min: 1,
  max: Infinity,
};

const textsUpTo = (length: number): string[] =>
  length === 0 ? [''] : ['', ...textsUpTo(length - 1).flatMap((of) => [`a${of}`, `b${of}`])];
const shortTexts = [...new Set(textsUpTo(5))];

/** Undefined where nothing matches, which compiling refuses. */
function matches(of: Grammar, input: string): boolean | undefined {
  try {
    return matchesGrammar(of, input);
  } catch (error) {
    assert.ok(isRocmforgeError(error, 'GRAMMAR_INVALID'), String(error));
    return undefined;
  }
}

test('a text matches exactly when the definition says so', () => {
  fc.assert(
    fc.property(
      smallGrammar,
      fc.shuffledSubarray(shortTexts, { minLength: 6, maxLength: 6 }),
      (of, texts) => {
        for (const input of texts) {
          assert.equal(
            matches(of, input) ?? false,
            new NaiveRecognizer(input).matches(of),
            JSON.stringify(input),
          );
        }
      },
    ),
    { numRuns: runsOf(700) },
  );
});

test('overlapping alternatives are all followed', () => {
  const of = grammar({
    root: sequence(repeat(choice(text('a'), text('ab'), text('aba')), 1, Infinity), text('!')),
  });
  for (const input of ['a!', 'ab!', 'aba!', 'abaab!', 'aaba!']) assert.ok(matchesGrammar(of, input), input);
  for (const input of ['', '!', 'b!', 'abb!', 'a']) assert.ok(!matchesGrammar(of, input), input);
});

test('left, right, middle and hidden recursion', () => {
  const long = 20_000;
  const left = grammar({ root: choice(sequence(named('root'), text('a')), text('a')) });
  assert.ok(matchesGrammar(left, 'a'.repeat(long)));
  const right = grammar({ root: choice(sequence(text('a'), named('root')), text('a')) });
  assert.ok(matchesGrammar(right, 'a'.repeat(long)));
  const middle = grammar({ root: choice(sequence(text('('), named('root'), text(')')), text('')) });
  assert.ok(matchesGrammar(middle, '('.repeat(long) + ')'.repeat(long)));
  assert.ok(!matchesGrammar(middle, '('.repeat(9) + ')'.repeat(8)));
  const hidden = grammar({
    root: choice(sequence(named('none'), named('root'), text('a')), text('a')),
    none: choice(text(''), text('')),
  });
  assert.ok(matchesGrammar(hidden, 'aaaa'));
  const cyclic = grammar({
    root: choice(named('root'), named('other'), text('a')),
    other: choice(named('root'), text('')),
  });
  assert.ok(matchesGrammar(cyclic, 'a') && matchesGrammar(cyclic, '') && !matchesGrammar(cyclic, 'aa'));
});

test('an ambiguous grammar takes no exponential time', () => {
  const of = grammar({ root: choice(sequence(named('root'), named('root')), text('a'), text('')) });
  assert.ok(matchesGrammar(of, 'a'.repeat(60)));
  assert.ok(!matchesGrammar(of, `${'a'.repeat(60)}b`));
});

test('counts stay counts', () => {
  const item = choice(sequence(text('<'), named('root'), text('>')), text('a'));
  const of = grammar({ root: repeat(item, 2, 1_000_000) });
  assert.ok(matchesGrammar(of, 'a<aa>'.repeat(500)));
  assert.ok(!matchesGrammar(of, 'a<a>'));
  assert.ok(!matchesGrammar(grammar({ root: named('x'), x: repeat(sequence(item), 0, 3) }), 'aaaa'));
});

test('distinct texts are compared in their scope', () => {
  const key: Rule = { kind: 'distinct', regex: letters };
  const member = sequence(key, text(':'), named('value'));
  const of = grammar({
    root: named('value'),
    value: choice(named('object'), text('1')),
    object: {
      kind: 'scope',
      part: sequence(text('{'), member, repeat(sequence(text(','), member), 0, Infinity), text('}')),
    },
  });
  for (const input of ['{a:1}', '{a:1,b:1}', '{a:{a:1,b:1},b:1}', '{a:{a:{a:1}}}', '{a:1,aa:1,aaa:1}']) {
    assert.ok(matchesGrammar(of, input), input);
  }
  for (const input of ['{a:1,a:1}', '{b:1,a:1,b:1}', '{a:{b:1,b:1},b:1}', '{a:{b:1},a:1}']) {
    assert.ok(!matchesGrammar(of, input), input);
  }
  const names = Array.from({ length: 500 }, (_, i) =>
    Array.from(String(i), (d) => 'abcdefghij'[Number(d)]).join(''),
  );
  assert.ok(matchesGrammar(of, `{${names.map((name) => `${name}:1`).join(',')}}`));
  assert.ok(!matchesGrammar(of, `{${[...names, 'ej'].map((name) => `${name}:1`).join(',')}}`));
});

test('rules may name each other many thousands in a row', () => {
  const rules = new Map<string, Rule>();
  for (let i = 0; i < 20_000; i++)
    rules.set(`r${i}`, choice(sequence(text('a'), named(`r${i + 1}`)), text('b')));
  rules.set('r20000', text('c'));
  assert.ok(matchesGrammar({ root: 'r0', rules }, 'aaab'));
});

test('what is no grammar is refused', () => {
  const refused = (rules: Record<string, Rule>) =>
    assert.throws(() => matchesGrammar(grammar(rules), ''), { code: 'GRAMMAR_INVALID' });
  refused({});
  refused({ root: named('missing') });
  refused({ root: named('root') });
  refused({ root: sequence(text('a'), named('root')) });
  refused({ root: regex({ kind: 'never' }) });
  refused({ root: { kind: 'distinct', regex: { kind: 'text', text: '' } } });
  refused({ root: repeat(text('a'), 3, 2) });
});

test('members come in their order, each at most once, and no more of them than may', () => {
  const member = (of: string, isRequired = false) => ({ text: of, value: text('='), isRequired });
  const members = [member('a'), member('b', true), member('c'), member('d')];
  const of = (min: number, max: number, more: { other?: Rule } = {}): Grammar =>
    grammar({ root: { kind: 'members', members, separator: text(','), min, max, ...more } });
  const all = ['b=', 'a=,b=', 'b=,c=', 'b=,d=', 'a=,b=,c=', 'a=,b=,d=', 'b=,c=,d=', 'a=,b=,c=,d='];
  const never = ['', 'a=', 'c=', 'a=,c=', 'b=,a=', 'b=,b=', 'b=,', 'b=,d=,c=', 'b', 'b=c='];
  const counted = (min: number, max: number): string[] =>
    all.filter((one) => one.split(',').length >= min && one.split(',').length <= max);
  for (const min of [0, 1, 2, 3, 4, 5]) {
    for (const max of [1, 2, 3, 4, Infinity].filter((most) => most >= min)) {
      const taken = [...all, ...never].filter((one) => matches(of(min, max), one));
      assert.deepEqual(taken, counted(min, max), `${min} to ${max}`);
    }
  }
  const open = of(0, 3, { other: text('x') });
  for (const one of ['b=', 'b=,x', 'b=,x,x', 'b=,c=,x', 'a=,b=,d=']) assert.ok(matches(open, one), one);
  for (const one of ['x', 'x,b=', 'b=,x,c=', 'b=,x,x,x', 'a=,b=,c=,x']) assert.ok(!matches(open, one), one);
  const alike = [member('a'), member('ab')];
  const unclear = grammar({
    root: { kind: 'members', members: alike, separator: text(','), min: 0, max: 2 },
  });
  assert.throws(() => matchesGrammar(unclear, 'a='), /cannot be told from the beginning/);
});

test('what is made later is made when a text first comes to it, once, and may hold itself', () => {
  const made: string[] = [];
  const later = (name: string, make: () => Grammar): Rule => ({
    kind: 'later',
    grammar: () => {
      made.push(name);
      return make();
    },
  });
  const list: Rule = later('list', () =>
    grammar({
      root: { kind: 'scope', part: sequence(text('['), named('items'), text(']')) },
      items: choice(sequence(), sequence(item, repeat(sequence(text(','), item), 0, Infinity)), list),
    }),
  );
  const item: Rule = { kind: 'distinct', regex: letters };
  const word = later('word', () => grammar({ root: regex(letters) }));
  const of = grammar({ root: choice(sequence(text('l'), list, list), sequence(text('w'), word)) });
  assert.equal(matchesGrammar(of, 'wabc'), true);
  assert.deepEqual(made, ['word']);
  made.length = 0;
  assert.equal(matchesGrammar(of, 'l[a,b,ab][[[a,b]]]'), true);
  assert.deepEqual(made, ['list']);
  for (const wrong of ['l', 'l[a]', 'l[a,a][]', 'l[a][b,[]]', 'w', 'w['])
    assert.equal(matchesGrammar(of, wrong), false, wrong);
  const empty = later('empty', () => grammar({ root: repeat(text('a'), 0, 1) }));
  assert.throws(
    () => matchesGrammar(grammar({ root: sequence(text('x'), empty) }), 'xa'),
    /what is made later/,
  );
});
