import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { fileOf } from '../support/gguf-files.ts';

test('a vocabulary of 128k tokens and 280k merges opens without being decoded', async (t) => {
  const tokens = Array.from({ length: 128_256 }, (_, index) => `Ġtoken${index.toString(36)}`);
  const merges = Array.from({ length: 280_147 }, (_, index) => `Ġtok ${index.toString(36)}`);
  const bytes = await fileOf({
    metadata: [
      ['tokenizer.ggml.tokens', { type: 'array', element: 'string', values: tokens }],
      ['tokenizer.ggml.token_type', { type: 'array', element: 'i32', values: new Int32Array(tokens.length) }],
      ['tokenizer.ggml.merges', { type: 'array', element: 'string', values: merges }],
    ],
    tensors: [],
  });
  const started = performance.now();
  await using file = await GgufFile.open(new MemorySource(bytes));
  const opened = performance.now();
  const decoded = file.metadata.requireStrings('tokenizer.ggml.tokens');
  const done = performance.now();
  t.diagnostic(`open ${(opened - started).toFixed(1)} ms, tokens ${(done - opened).toFixed(1)} ms`);
  assert.deepEqual(decoded, tokens);
  assert.deepEqual(file.metadata.strings('tokenizer.ggml.merges'), merges);
});
