import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { GgufFile } from '../../src/gguf/index.ts';
import { MemorySource } from '../../src/io/index.ts';
import { chooseFormats } from '../../src/quantize/choose-formats.ts';
import { MIXES, mixNamed } from '../../src/quantize/mixes.ts';
import { fixture } from '../support/fixture.ts';
import { fileOf, format } from '../support/gguf-files.ts';
import { formatsText, MIXED_MODELS, mixedPlan } from '../support/mixed-models.ts';

const golden = JSON.parse(readFileSync(fixture('quantize-mixes.json'), 'utf8')) as Record<string, string>;

function opened(name: string): Promise<GgufFile> {
  const model = MIXED_MODELS[name];
  assert.ok(model);
  return fileOf(mixedPlan(model)).then((bytes) => GgufFile.open(new MemorySource(bytes, name)));
}

for (const name of Object.keys(MIXED_MODELS)) {
  test(`each mix of ${name} has the formats that llama-quantize chooses`, async () => {
    await using gguf = await opened(name);
    for (const mix of MIXES) {
      // llama.cpp refuses rows that are no whole number of these blocks.
      if (name === 'qwen2' && mix.name === 'Q1_0') continue;
      for (const hasImportance of [false, true]) {
        const chosen = [...chooseFormats(gguf, { mix, hasImportance })];
        const text = formatsText(chosen.map(([tensor, { name: to }]) => [tensor, to]));
        const key = `${name} ${mix.name}${hasImportance ? ' imatrix' : ''}`;
        assert.equal(text, golden[key], key);
      }
    }
  });
}

test('what is said about single tensors comes before the rules', async () => {
  await using gguf = await opened('llama');
  const mix = mixNamed('q4_k');
  assert.ok(mix);
  assert.equal(mix.name, 'Q4_K_M');
  const own = (choices: Partial<Parameters<typeof chooseFormats>[1]>, tensor: string) =>
    chooseFormats(gguf, { mix, hasImportance: false, ...choices }).get(tensor)?.name;
  const [up, down, head, table] = [
    'blk.3.ffn_up.weight',
    'blk.0.ffn_down.weight',
    'output.weight',
    'token_embd.weight',
  ];
  assert.deepEqual(
    [up, down, head, table].map((name) => own({}, name)),
    ['Q4_K', 'Q6_K', 'Q6_K', 'Q4_K'],
  );
  assert.deepEqual(
    [up, down, head, table].map((name) => own({ pure: true }, name)),
    Array(4).fill('Q4_K'),
  );
  const tensorFormats = [[/ffn_up/, format('Q8_0')]] as const;
  assert.equal(own({ tensorFormats }, up), 'Q8_0');
  assert.equal(own({ outputFormat: format('F16') }, head), 'F16');
  assert.equal(own({ embeddingFormat: format('Q5_0') }, table), 'Q5_0');
});
