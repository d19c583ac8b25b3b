import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  choiceGrammar,
  gbnfGrammar,
  type Grammar,
  matchesGrammar,
  PreparedVocabulary,
  regexGrammar,
  TokenGrammar,
} from '../../src/grammar/index.ts';
import { fixture } from '../support/fixture.ts';
import { type SmallToken, smallVocabulary } from '../support/grammar/small-vocabulary.ts';

/** A text, or its parts: texts and ids of tokens. */
type Input = string | readonly (string | number)[];

/** llama.cpp's own cases: tests/test-grammar-integration.cpp and tests/test-grammar-parser.cpp. */
const CASES = JSON.parse(readFileSync(fixture('grammar/gbnf-cases.json'), 'utf8')) as {
  readonly matching: readonly { name: string; grammar: string; passing: Input[]; failing: Input[] }[];
  readonly parsed: readonly string[];
  readonly refused: readonly string[];
  readonly leftRecursive: readonly string[];
};

/** Token 0 is never used, 1 to 99 are user-defined, those behind are bytes. */
const SPECIAL = 100;
const vocabulary = new PreparedVocabulary(
  smallVocabulary([
    ...Array.from({ length: SPECIAL }, (_, id): SmallToken => ({ text: `<[${id}]>`, kind: 'user-defined' })),
    ...Array.from({ length: 256 }, (_, byte): SmallToken => ({ text: Uint8Array.of(byte) })),
  ]),
);
const encoder = new TextEncoder();

function matches(grammar: Grammar, input: Input): boolean {
  const matcher = new TokenGrammar(grammar, vocabulary).matcher();
  for (const part of [input].flat()) {
    const ids =
      typeof part === 'number' ? [part] : Array.from(encoder.encode(part), (byte) => SPECIAL + byte);
    for (const id of ids) if (!matcher.tryAccept(id)) return false;
  }
  return matcher.canEnd;
}

for (const { name, grammar, passing, failing } of CASES.matching) {
  test(`llama.cpp: ${name}`, () => {
    const parsed = gbnfGrammar(grammar);
    for (const input of passing) assert.ok(matches(parsed, input), JSON.stringify(input));
    for (const input of failing) assert.ok(!matches(parsed, input), JSON.stringify(input));
  });
}

test('llama.cpp: what its parser takes', () => {
  assert.equal(CASES.parsed.length, 17);
  for (const grammar of CASES.parsed) assert.ok(gbnfGrammar(grammar).rules.has('root'), grammar);
});

test('llama.cpp: what its parser refuses, but for the sizes of counts', () => {
  // It writes repetitions out, and so has to refuse many; here they are counted.
  const isTooLarge = (grammar: string) => /5000|\{0,99\}/.test(grammar);
  assert.deepEqual([CASES.refused.length, CASES.refused.filter(isTooLarge).length], [6, 4]);
  for (const grammar of CASES.refused) {
    if (isTooLarge(grammar)) assert.ok(gbnfGrammar(grammar).rules.has('root'), grammar);
    else assert.throws(() => gbnfGrammar(grammar), { code: 'GRAMMAR_INVALID' }, grammar);
  }
});

test('llama.cpp: left recursion, which it refuses, is taken', () => {
  const [simple, medium, hard, hardest] = CASES.leftRecursive.map(gbnfGrammar);
  assert.ok(simple && medium && hard && hardest);
  for (const grammar of [simple, medium]) {
    assert.ok(
      matchesGrammar(grammar, 'aaa') && !matchesGrammar(grammar, '') && !matchesGrammar(grammar, 'ab'),
    );
  }
  assert.ok(matchesGrammar(hard, 'adbdb') && matchesGrammar(hard, 'cb') && !matchesGrammar(hard, 'ad'));
  assert.ok(matchesGrammar(hardest, 'blahadb') && matchesGrammar(hardest, 'blahblahebdbdb'));
  assert.ok(!matchesGrammar(hardest, 'blah'));
});

test('rules that lead round in empty circles end', () => {
  const grammar = gbnfGrammar('root ::= a* b | "x"\na ::= b? a? \nb ::= a | root | ');
  assert.ok(matchesGrammar(grammar, 'xxx') && matchesGrammar(grammar, '') && !matchesGrammar(grammar, 'y'));
  assert.ok(!matchesGrammar(gbnfGrammar('root ::= (((([^x]*){0,99}){0,99}){0,99})* "x"'), 'a'.repeat(500)));
});

test('classes, escapes, comments and lines', () => {
  const is = (grammar: string, ...texts: string[]) => {
    const parsed = gbnfGrammar(grammar);
    for (const text of texts) assert.ok(matchesGrammar(parsed, text), `${grammar}: ${text}`);
  };
  const isNot = (grammar: string, ...texts: string[]) => {
    const parsed = gbnfGrammar(grammar);
    for (const text of texts) assert.ok(!matchesGrammar(parsed, text), `${grammar}: ${text}`);
  };
  is(String.raw`root ::= "\x41\u00e9\U0001F600\n\t\r\\\"\[\]"`, 'Aé😀\n\t\r\\"[]');
  is(String.raw`root ::= [a\-z\]-]+`, 'a-z]-');
  isNot(String.raw`root ::= [a\-z]`, 'b');
  is('root ::= [^a-cx]+', 'dé😀\n');
  isNot('root ::= [^a-cx]', 'b', 'x', '');
  isNot('root ::= "a" | []', '', 'b');
  is('# first\nroot ::= "a" # one\n\n# two\r\nother ::= "b"\r\n', 'a');
  is('root ::= "a" |\n  "b"', 'b');
  is('root ::= (\n "a" # in a group\n | "b"\n)+', 'abba');
  is('root ::= "a"{2} "b"{1,} "c"{ 0 , 2 }', 'aabbb', 'aabcc');
  is('root ::= a-1\na-1 ::= "x" | \n', 'x');
});

test('what is wrong is told with line and column', () => {
  const refused = (grammar: string, message: RegExp) =>
    assert.throws(() => gbnfGrammar(grammar), { code: 'GRAMMAR_INVALID', message }, grammar);
  refused('', /no rule named root/);
  refused('rot ::= "a"', /no rule named root/);
  refused('root ::= other', /line 1, column 10: there is no rule named other/);
  refused('root ::= "a"\n  b "c"', /line 2, column 5: expected "::="/);
  refused('root ::= "a', /line 1, column 12: it ends/);
  refused('root ::= [a', /it ends/);
  refused('root ::= ("a"', /expected "\)"/);
  refused('root ::= "a")', /line 1, column 13: expected the end/);
  refused('root ::= *', /nothing to repeat/);
  refused('root ::= "a"{3,2}', /backwards/);
  refused('root ::= [z-a]', /backwards/);
  refused(String.raw`root ::= "\q"`, /column 11: there is no escape/);
  refused(String.raw`root ::= "\x4"`, /2 hexadecimal digits/);
  refused(String.raw`root ::= "\ud800"`, /no such character/);
  refused('root ::= "a"\nroot ::= "b"', /line 2, column 1: the rule root is defined twice/);
  refused('root ::= <[x]>', /expected a number/);
  refused(`root ::= ${'('.repeat(50_000)}`, /nested more than/);
});

test('a token that the vocabulary lacks is refused by its id, and text by its name', () => {
  const refused = (grammar: string) =>
    assert.throws(() => new TokenGrammar(gbnfGrammar(grammar), vocabulary), { code: 'GRAMMAR_INVALID' });
  refused('root ::= <[9999]>');
  refused('root ::= !<missing>');
  assert.throws(() => matchesGrammar(gbnfGrammar('root ::= <[1]>'), ''), { code: 'GRAMMAR_INVALID' });
  assert.ok(matches(gbnfGrammar('root ::= <missing>'), '<missing>'));
});

test('the mask of any token but one', () => {
  const matcher = new TokenGrammar(gbnfGrammar('root ::= !<[7]> "a"'), vocabulary).matcher();
  const mask = new Int32Array(vocabulary.words);
  assert.ok(matcher.fill(mask));
  for (let id = 0; id < vocabulary.size; id++) {
    const isIn = (((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1;
    assert.equal(isIn, id !== 7);
    if (isIn) matcher.accept(id);
    if (isIn) matcher.rollback(1);
  }
});

test('patterns and choices', () => {
  const pattern = regexGrammar('(?:ab|c)+d?');
  assert.ok(
    matchesGrammar(pattern, 'abcd') && !matchesGrammar(pattern, 'xabcd') && !matchesGrammar(pattern, 'd'),
  );
  const choice = choiceGrammar(['yes', 'no', 'yes, but']);
  assert.ok(
    matchesGrammar(choice, 'yes') && matchesGrammar(choice, 'yes, but') && !matchesGrammar(choice, 'yes,'),
  );
  assert.throws(() => matchesGrammar(choiceGrammar([]), ''), { code: 'GRAMMAR_INVALID' });
});
