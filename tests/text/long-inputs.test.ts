import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenizer, type TokenizerMetadata } from '../../src/text/index.ts';
import { vocabularyMetadata, withPretokenizer } from '../support/vocabularies.ts';

/**
 * A text that is ten times as long takes ten times as long if a tokenizer is linear, a hundred times if it is quadratic. What
 * garbage and the compiler add to a short one is within the slack.
 */
const MAX_TIMES = 40;
const SLACK_MS = 300;

/** Time on a processor, which others on the machine do not lengthen. */
function processorTime(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const REPEATED = ['a', ' ', '\n', '\r\n', '1', '=', "'", '中', '👍', '\u0301', 'A', 'aA', ' \t', 'ab '];

function checkTime(metadata: TokenizerMetadata, sentences: number): void {
  const tokenizer = createTokenizer(metadata);
  const prose = 'The quick brown fox jumps over 12 lazy dogs, again. '.repeat(sentences);
  for (const text of [prose, ...REPEATED.map((unit) => unit.repeat(100_000 / unit.length))]) {
    const short = processorTime(() =>
      tokenizer.encode(text.slice(0, text.length / 10), { addSpecial: false }),
    );
    let ids: readonly number[] = [];
    const passed = processorTime(() => (ids = tokenizer.encode(text, { addSpecial: false })));
    const named = `${passed} ms for ${JSON.stringify(text.slice(0, 4))}, ${short} ms for a tenth of it`;
    assert.ok(passed < MAX_TIMES * short + SLACK_MS, named);
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
