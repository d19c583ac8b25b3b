import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRocmforgeError } from '../../src/base/errors.ts';
import { createTokenizer, StreamingDetokenizer, type Tokenizer } from '../../src/text/index.ts';
import { metadataOf } from '../support/metadata.ts';

const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
);
/** Ids: unknown, bos, eos, the bytes from 3, two words, a control token, an unused one. */
const TOKENIZER: Tokenizer = createTokenizer(
  metadataOf({
    model: 'llama',
    tokens: ['<unk>', '<s>', '</s>', ...BYTES, '▁Hello', '▁world', '<tool>', '<unused>'],
    token_type: [2, 3, 3, ...BYTES.map(() => 6), 1, 1, 3, 5],
  }),
);
const HELLO = 259;
const WORLD = 260;
const TOOL = 261;
const UNUSED = 262;
const byteIds = (...bytes: readonly number[]) => bytes.map((byte) => byte + 3);

function pieces(ids: readonly number[], options = {}): string[] {
  const detokenizer = new StreamingDetokenizer(TOKENIZER, options);
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

test('a character comes out with its last byte', () => {
  assert.deepEqual(pieces(byteIds(0xf0, 0x9f, 0xa6, 0x99)), ['', '', '', '🦙', '']);
});

test('bytes become U+FFFD only when they can no longer become a character', () => {
  assert.deepEqual(pieces(byteIds(0xe2, 0x82, 0x41)), ['', '', '\ufffdA', '']);
  assert.deepEqual(pieces(byteIds(0xff, 0x41)), ['\ufffd', 'A', '']);
  assert.deepEqual(pieces(byteIds(0xe2, 0x82)), ['', '', '\ufffd']);
});

test('a byte order mark is text', () => {
  assert.deepEqual(pieces(byteIds(0xef, 0xbb, 0xbf)), ['', '', '\ufeff', '']);
});

test("the first word's space is left out once, unless the text continues", () => {
  assert.deepEqual(pieces([1, HELLO, WORLD]), ['', 'Hello', ' world', '']);
  assert.deepEqual(pieces([HELLO, WORLD], { keepLeadingSpace: true }), [' Hello', ' world', '']);
  assert.equal(TOKENIZER.decode([1, HELLO, WORLD]), 'Hello world');
  assert.equal(TOKENIZER.decode([HELLO], { keepLeadingSpace: true }), ' Hello');
});

test('control tokens are left out or named, unused ones say nothing', () => {
  assert.deepEqual(pieces([HELLO, TOOL, UNUSED, WORLD]), ['Hello', '', '', ' world', '']);
  assert.deepEqual(pieces([HELLO, TOOL], { special: true }), ['Hello', '<tool>', '']);
});

test('ids outside the vocabulary are refused', () => {
  for (const id of [-1, 263, 1.5, Number.NaN]) {
    for (const use of [() => TOKENIZER.decode([id]), () => pieces([id]), () => TOKENIZER.tokenText(id)]) {
      assert.throws(use, (error) => isRocmforgeError(error, 'TOKEN_OUT_OF_RANGE'));
    }
  }
});
