import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type TokenizerMetadata } from '../../src/text/index.ts';
import { vocabularyMetadata, withPretokenizer } from '../support/vocabularies.ts';

/** Far above what a linear tokenizer needs, far below what a quadratic one would take. */
const LIMIT_MS = 6000;

const REPEATED = ['a', ' ', '\n', '\r\n', '1', '=', "'", '中', '👍', '\u0301', 'A', 'aA', ' \t', 'ab '];

function checkTime(metadata: TokenizerMetadata, sentences: number): void {
  const tokenizer = createTokenizer(metadata);
  const prose = 'The quick brown fox jumps over 12 lazy dogs, again. '.repeat(sentences);
  for (const text of [prose, ...REPEATED.map((unit) => unit.repeat(100_000 / unit.length))]) {
    const start = performance.now();
    const ids = tokenizer.encode(text, { addSpecial: false });
    const passed = performance.now() - start;
    assert.ok(passed < LIMIT_MS, `${passed} ms for ${JSON.stringify(text.slice(0, 4))}`);
    assert.equal(tokenizer.decode(ids), text);
  }
}

for (const name of ['llama-bpe', 'llama-spm'] as const) {
  test(`${name}: a megabyte and 100k repeated characters take no quadratic time`, async () => {
    checkTime(await vocabularyMetadata(name), 20_000);
  });
}

test('pre-tokenizers with nested repetition stay linear', async () => {
  const metadata = await vocabularyMetadata('gpt-2');
  for (const pre of ['gpt-4o', 'exaone-moe', 'kimi-k2', 'deepseek-llm', 'superbpe', 'tiny_aya', 'jais-2']) {
    checkTime(withPretokenizer(metadata, pre), 1000);
  }
});
