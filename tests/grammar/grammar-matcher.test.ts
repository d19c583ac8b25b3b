import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import {
  type Grammar,
  type GrammarMatcher,
  PreparedVocabulary,
  type Rule,
  TokenGrammar,
} from '../../src/grammar/index.ts';
import { NaiveRecognizer, smallGrammar } from '../support/grammar/naive-grammar.ts';
import { smallVocabulary } from '../support/grammar/small-vocabulary.ts';
import { runsOf } from '../support/property-runs.ts';
import fc from '../support/fast-check.ts';

const vocabulary = new PreparedVocabulary(
  smallVocabulary([
    { text: 'a' },
    { text: 'b' },
    { text: 'ab' },
    { text: 'abb' },
    { text: 'bab', kind: 'user-defined' },
    { text: '<end>', kind: 'end' },
    { text: '<call>', kind: 'control' },
    { text: '', kind: 'unused' },
  ]),
);
const TEXTS = ['a', 'b', 'ab', 'abb', 'bab'];
const A = 0;
const B = 1;
const END = 5;
const CALL = 6;

/** One or two times `a`. */
const WORD = { kind: 'repeat', part: { kind: 'text', text: 'a' }, min: 1, max: 2 } as const;

const text = (of: string): Rule => ({ kind: 'regex', regex: { kind: 'text', text: of } });

function matcherOrNone(grammar: Grammar): GrammarMatcher | undefined {
  try {
    return new TokenGrammar(grammar, vocabulary).matcher();
  } catch (error) {
    assert.ok(isRocmforgeError(error, 'GRAMMAR_INVALID'), String(error));
    return undefined;
  }
}

function matcherOf(rule: Rule): GrammarMatcher {
  return new TokenGrammar({ root: 'root', rules: new Map([['root', rule]]) }, vocabulary).matcher();
}

test('tokens are taken as their texts, and back', () => {
  const ids = fc.array(fc.nat(TEXTS.length - 1), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(smallGrammar, ids, ids, (grammar, tokens, others) => {
      const matcher = matcherOrNone(grammar);
      if (!matcher) return;
      const read: string[] = [];
      for (const id of tokens) {
        const before = matcher.length;
        if (matcher.copy().tryAccept(id)) {
          // Another way, and back from it.
          for (const other of others) matcher.tryAccept(other);
          matcher.rollback(matcher.length - before);
        }
        if (!matcher.tryAccept(id)) {
          // Nothing that goes on so is a text.
          const prefix = read.join('') + (TEXTS[id] ?? '');
          for (const more of ['', 'a', 'b', 'ab']) {
            assert.equal(new NaiveRecognizer(prefix + more).matches(grammar), false, prefix + more);
          }
          return;
        }
        read.push(TEXTS[id] ?? '');
        assert.equal(matcher.canEnd, new NaiveRecognizer(read.join('')).matches(grammar), read.join(''));
      }
    }),
    { numRuns: runsOf(700) },
  );
});

test('a text ends where it may, by a token that ends generation', () => {
  const matcher = matcherOf({ kind: 'repeat', part: text('ab'), min: 1, max: 2 });
  assert.deepEqual([matcher.canEnd, matcher.isComplete, matcher.tryAccept(END)], [false, false, false]);
  matcher.accept(2);
  assert.deepEqual([matcher.canEnd, matcher.isComplete], [true, false]);
  matcher.accept(END);
  assert.deepEqual([matcher.canEnd, matcher.isComplete, matcher.tryAccept(2)], [false, true, false]);
  matcher.rollback(1);
  matcher.accept(2);
  assert.deepEqual([matcher.canEnd, matcher.isComplete], [true, true]);
  assert.throws(() => matcher.accept(2), { code: 'GRAMMAR_DEAD_END' });
  assert.equal(matcher.length, 2);
});

test('a control token stands for itself where it is named, and nowhere for its text', () => {
  const call = matcherOf({
    kind: 'sequence',
    parts: [text('a'), { kind: 'token', text: '<call>' }, text('b')],
  });
  assert.ok(!call.tryAccept(CALL));
  call.accept(0);
  assert.ok(!call.tryAccept(END) && !call.tryAccept(1));
  call.accept(CALL);
  call.accept(1);
  assert.ok(call.isComplete);
  assert.ok(!matcherOf(text('<call>')).tryAccept(CALL));
  const missing = matcherOf({ kind: 'token', text: 'bab<' });
  assert.ok(missing.tryAccept(4));
});

test('a token that ends generation can be named in the middle', () => {
  const matcher = matcherOf({
    kind: 'sequence',
    parts: [
      { kind: 'repeat', part: { kind: 'token', text: '<end>' }, min: 0, max: 1 },
      { kind: 'repeat', part: text('a'), min: 0, max: 1 },
    ],
  });
  matcher.accept(END);
  assert.ok(matcher.canEnd && !matcher.isComplete);
  matcher.accept(0);
  assert.ok(matcher.isComplete);
});

test('a user-defined token is text and token', () => {
  const grammar: Grammar = {
    root: 'root',
    rules: new Map<string, Rule>([
      [
        'root',
        {
          kind: 'choice',
          parts: [
            { kind: 'sequence', parts: [text('ba'), text('b'), text('a')] },
            { kind: 'sequence', parts: [{ kind: 'token', text: 'bab' }, text('b')] },
          ],
        },
      ],
    ]),
  };
  const matcher = new TokenGrammar(grammar, vocabulary).matcher();
  matcher.accept(4);
  assert.ok(matcher.copy().tryAccept(0) && matcher.copy().tryAccept(1));
  matcher.rollback(1);
  matcher.accept(1);
  matcher.accept(2);
  assert.ok(matcher.copy().tryAccept(0) && !matcher.copy().tryAccept(1));
});

test('where distinct texts run out there is no way on', () => {
  const digit: Rule = { kind: 'distinct', regex: { kind: 'set', ranges: [[0x61, 0x62]] } };
  const matcher = matcherOf({ kind: 'sequence', parts: [digit, digit, digit, text('b')] });
  matcher.accept(0);
  assert.ok(!matcher.tryAccept(0));
  assert.ok(!matcher.tryAccept(1), 'a third one could not follow');
  assert.ok(!matcher.isDead);
});

test('distinct texts are those of the own text, whatever others have read of the same grammar', () => {
  const filler: Rule = {
    kind: 'regex',
    regex: { kind: 'repeat', part: { kind: 'text', text: 'a' }, min: 1, max: Infinity },
  };
  const word: Rule = {
    kind: 'distinct',
    regex: { kind: 'sequence', parts: [WORD, { kind: 'text', text: 'b' }] },
  };
  const list: Rule = {
    kind: 'repeat',
    part: { kind: 'sequence', parts: [filler, text('b'), word] },
    min: 1,
    max: 4,
  };
  const rules = new Map([['root', { kind: 'scope', part: list } satisfies Rule]]);
  const grammar = new TokenGrammar({ root: 'root', rules }, vocabulary);
  const read = (of: string): boolean => {
    const matcher = grammar.matcher();
    return [...of].every((letter) => matcher.tryAccept(letter === 'a' ? A : B));
  };
  assert.ok(read('aab' + 'aab'));
  // The same row as before, at another place of the text.
  assert.ok(read('ab' + 'aab'));
  assert.ok(read('ab' + 'aab' + 'ab' + 'ab'));
  assert.ok(!read('ab' + 'aab' + 'ab' + 'aab'));
});
