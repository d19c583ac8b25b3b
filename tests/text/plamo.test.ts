import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';
import { seededRandom } from '../support/random.ts';

const SPECIAL = ['<|plamo:unk|>', '<|plamo:bos|>', '<|plamo:eos|>', '<|plamo:pad|>'];
const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
);

type Entry = readonly [text: string, score: number];

function plamo(entries: readonly Entry[]): Tokenizer {
  const tokens = [...SPECIAL, ...BYTES, ...entries.map(([text]) => text)];
  const scores = [...SPECIAL, ...BYTES].map(() => 0);
  return createTokenizer(
    metadataOf({
      model: 'plamo2',
      tokens,
      scores: [...scores, ...entries.map(([, score]) => score)],
      token_type: tokens.map((_, id) =>
        id < SPECIAL.length ? 3 : id < SPECIAL.length + BYTES.length ? 6 : 1,
      ),
    }),
  );
}

function pieces(tokenizer: Tokenizer, text: string): string[] {
  return tokenizer.encode(text, { addSpecial: false }).map((id) => tokenizer.tokenText(id));
}

/** The pieces by their definition: from the end, of all tokens that begin at a character the one with the cheapest rest. */
function bySearch(entries: readonly Entry[], text: string): string[] {
  const characters = [...text];
  const best: { cost: number; first: string; length: number }[] = [];
  best[characters.length] = { cost: 0, first: '', length: 0 };
  for (let at = characters.length - 1; at >= 0; at--) {
    for (let length = characters.length - at; length >= 1; length--) {
      const first = characters.slice(at, at + length).join('');
      const score = entries.find(([token]) => token === first)?.[1];
      const rest = best[at + length]?.cost ?? 0;
      if (score === undefined || Math.round(score * 1e4) <= -2e7) continue;
      const cost = rest - Math.round(score * 1e4);
      if (cost < (best[at]?.cost ?? Infinity)) best[at] = { cost, first, length };
    }
    const unknown = (best[at + 1]?.cost ?? 0) + 1e7;
    if (unknown < (best[at]?.cost ?? Infinity)) best[at] = { cost: unknown, first: '', length: 1 };
  }
  const found: string[] = [];
  for (let at = 0; at < characters.length;) {
    const { first, length } = best[at] ?? { first: '', length: 1 };
    if (first) found.push(first);
    else for (const byte of new TextEncoder().encode(characters[at])) found.push(BYTES[byte] as string);
    at += length;
  }
  return found;
}

test('the cheapest way to the end wins, the longer token among equals', () => {
  const entries: Entry[] = [
    ['a', -3],
    ['b', -3],
    ['ab', -5],
    ['bc', -2],
    ['c', -1],
    ['cd', -2],
    ['d', -1],
    ['é', -1],
  ];
  assert.deepEqual(pieces(plamo(entries), 'ab'), ['ab']);
  assert.deepEqual(pieces(plamo(entries), 'abc'), ['a', 'bc']);
  assert.deepEqual(pieces(plamo(entries), 'cd'), ['cd']);
  assert.deepEqual(pieces(plamo(entries), 'xéa'), ['<0x78>', 'é', 'a']);
  assert.deepEqual(pieces(plamo(entries), '日a'), ['<0xE6>', '<0x97>', '<0xA5>', 'a']);
  assert.deepEqual(pieces(plamo(entries), '\uFEFFa'), ['a']);
  assert.deepEqual(
    pieces(
      plamo([
        ['a', -2001],
        ['b', -1],
      ]),
      'ab',
    ),
    ['<0x61>', 'b'],
  );
  assert.deepEqual(plamo(entries).encode(''), []);
});

test('random vocabularies give what a search over their tokens gives, and texts come back', () => {
  const random = seededRandom(3);
  const letters = ['a', 'b', 'c', 'é', '日', ' '];
  const word = (longest: number) =>
    Array.from(
      { length: 1 + Math.floor(random() * longest) },
      () => letters[Math.floor(random() * letters.length)],
    ).join('');
  for (let round = 0; round < 40; round++) {
    const known = new Map(
      Array.from({ length: 20 }, () => [word(4), -Math.floor(random() * 40) / 8] as const),
    );
    const entries = [...known];
    const tokenizer = plamo(entries);
    for (let at = 0; at < 5; at++) {
      const text = word(24);
      assert.deepEqual(pieces(tokenizer, text), bySearch(entries, text), text);
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    }
  }
});

test('control tokens are taken where they are asked for alone', () => {
  const tokenizer = plamo([['a', -1]]);
  assert.deepEqual(tokenizer.encode('<|plamo:eos|>a', { parseSpecial: true }), [2, 260]);
  assert.notEqual(tokenizer.encode('<|plamo:eos|>a')[0], 2);
});
