import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createTokenizer, StreamingDetokenizer } from '../../src/text/index.ts';
import { unescapeBytes } from '../../src/text/models/rwkv-model.ts';
import { metadataOf } from '../support/metadata.ts';
import { sharedPath } from '../support/shared.ts';

test('escapes stand for bytes', () => {
  assert.deepEqual(
    [...unescapeBytes(new TextEncoder().encode("\\t\\n\\r\\\\\\'\\xff\\x00é"))],
    [9, 10, 13, 92, 39, 255, 0, 0xc3, 0xa9],
  );
});

test('the longest token is taken at every place', () => {
  const tokens = ['<s>', 'a', 'ab', 'abcd', 'c', '\\xe6', '\\x97', '\\xa5', '\\xe6\\x97\\xa5'];
  const tokenizer = createTokenizer(
    metadataOf({ model: 'rwkv', tokens, token_type: [3, 1, 1, 1, 1, 1, 1, 1, 1] }),
  );
  assert.deepEqual(tokenizer.encode('abcabcd日'), [2, 4, 3, 8]);
  assert.equal(tokenizer.decode([5, 6, 7]), '日');
  assert.deepEqual(tokenizer.encode('<s>a', { parseSpecial: true }), [0, 1]);
});

const WORLD = sharedPath('tokenizers', 'rwkv_vocab_v20230424.txt');

test('the world vocabulary', { skip: WORLD === undefined && 'its text is not here' }, () => {
  const tokenizer = createTokenizer(
    metadataOf({ model: 'rwkv', tokens: readWorld(WORLD as string), eot_token_id: 261 }),
  );
  assert.equal(tokenizer.vocabularySize, 65530);
  // Each token alone is its own encoding, since the longest match of its bytes is itself.
  for (let id = 1; id < tokenizer.vocabularySize; id += 97) {
    const text = tokenizer.decode([id]);
    if (!text.includes('\ufffd')) assert.deepEqual(tokenizer.encode(text), [id]);
  }
  const text = 'Hello, 世界! Привет 🦙\n\n\tdef f(x): return x**2\u0000';
  const ids = tokenizer.encode(text);
  assert.equal(tokenizer.decode(ids), text);
  const stream = new StreamingDetokenizer(tokenizer);
  assert.equal(ids.map((id) => stream.push(id)).join('') + stream.flush(), text);
  assert.deepEqual(tokenizer.encode('\n\n'), [261]);
  assert.ok(tokenizer.special.endOfGeneration.has(261));
});

/** Lines `id literal length`, the literal in Python's spelling of text or bytes; GGUF spells every token as bytes. */
function readWorld(path: string): string[] {
  const tokens = ['<s>'];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue;
    const first = line.indexOf(' ');
    const literal = line.slice(first + 1, line.lastIndexOf(' '));
    tokens[Number(line.slice(0, first))] = bytesSpelling(literal);
  }
  return tokens;
}

function bytesSpelling(literal: string): string {
  if (literal.startsWith('b')) return literal.slice(2, -1);
  const text = literal
    .slice(1, -1)
    .replace(/\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gsu, unescapeText);
  return Array.from(
    new TextEncoder().encode(text),
    (byte) => `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

function unescapeText(_whole: string, x?: string, u?: string, long?: string, character = ''): string {
  const code = x ?? u ?? long;
  if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
  return { n: '\n', r: '\r', t: '\t' }[character] ?? character;
}
