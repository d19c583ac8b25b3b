import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { format } from '../support/gguf-files.ts';
import { seededRandom } from '../support/random.ts';
import { TINY, tinyPlan } from '../support/tiny-model.ts';

const F32 = format('F32');
const PARTS = ['q', 'k', 'v'] as const;

/** Repeatable values of a tensor, by its name. */
function valuesOf(name: string, shape: readonly number[]): Float32Array {
  const [columns = 1, rows = 1] = shape;
  if (name.includes('norm')) return new Float32Array(columns).fill(1);
  const random = seededRandom([...name].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 1e6, 7));
  return Float32Array.from(
    { length: columns * rows },
    () => ((random() * 2 - 1) * 1.5) / Math.sqrt(shape.length === 1 ? 4 : columns),
  );
}

interface Stored {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** A tiny Llama whose queries, keys and values have biases, with these tensors fused. */
async function modelWith(
  fused: readonly ('weight' | 'bias')[],
  left: readonly string[] = PARTS,
): Promise<GgufFile> {
  const plan = tinyPlan('F32');
  const all = plan.tensors.flatMap(({ name, shape }): Stored[] => {
    const weight = { name, shape, data: valuesOf(name, shape) };
    if (!/attn_[qkv]\.weight$/.test(name)) return [weight];
    const bias = name.replace(/weight$/, 'bias');
    const rows = [shape[1] as number];
    return [weight, { name: bias, shape: rows, data: valuesOf(bias, rows) }];
  });
  const tensors: Stored[] = all.filter(
    ({ name }) => !/attn_[qkv]\.bias$/.test(name) || left.includes(name.at(-6) as string),
  );
  for (const kind of fused) {
    for (let layer = 0; layer < TINY.layers; layer++) {
      const names = PARTS.map((part) => `blk.${layer}.attn_${part}.${kind}`);
      const parts = names.map((name) => tensors.find((tensor) => tensor.name === name) as Stored);
      const data = Float32Array.from(parts.flatMap((part) => [...part.data]));
      for (const part of parts) tensors.splice(tensors.indexOf(part), 1);
      const shape = kind === 'weight' ? [TINY.width, data.length / TINY.width] : [data.length];
      tensors.push({ name: `blk.${layer}.attn_qkv.${kind}`, shape, data });
    }
  }
  const sink = new MemorySink();
  const planned = tensors.map(({ name, shape }) => ({ name, shape: [...shape], format: F32 }));
  const writer = await GgufWriter.begin(sink, { metadata: plan.metadata, tensors: planned });
  for (const { data } of tensors) await writer.write(new Uint8Array(data.buffer));
  writer.end();
  return GgufFile.open(new MemorySource(sink.bytes(), 'fused.gguf'));
}

/** The likeliest tokens of each step and how likely they are. */
async function answerOf(gguf: GgufFile): Promise<unknown> {
  const parts = { gguf, device: openReferenceDevice(), architectures: ALL_ARCHITECTURES };
  await using model = await LanguageModel.open(parts, { context: 32 });
  const tokens: unknown[] = [];
  const options = { temperature: 0, maxTokens: 4, ignoreEnd: true, logProbabilities: 3 };
  for await (const { token } of model.generate('hi hi', options)) tokens.push(token);
  assert.equal(tokens.filter((token) => token !== undefined).length, 4);
  return tokens;
}

test('biases of queries, keys and values count the same, fused and apart', async () => {
  const apart = await answerOf(await modelWith([]));
  assert.deepEqual(await answerOf(await modelWith(['weight'])), apart);
  assert.deepEqual(await answerOf(await modelWith(['weight', 'bias'])), apart);
});

test('a fused matrix with some of the three biases is refused, as what nobody reads', async () => {
  await using device = openReferenceDevice();
  const parts = { gguf: await modelWith(['weight'], ['q', 'k']), device };
  await assert.rejects(LanguageModel.open({ ...parts, architectures: ALL_ARCHITECTURES }, { context: 32 }), {
    code: 'MODEL_UNREAD',
  });
});
