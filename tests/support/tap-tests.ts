import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel, TappedValue, TapHandler } from '../../src/index.ts';
import { familyPaths } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';

const IDS = [7, 25, 53, 30, 17, 14, 21];
const OTHERS = [3, 3, 9, 60, 1, 0, 5];

/** Values within a layer, at its end, and at both ends of the model. */
const NAMES = ['embedding', 'blk.0.attention', 'blk.0.add', 'blk.1.ffn_gate', 'blk.1.add 2', 'logits'];

/** Values of the graph are read and replaced while it runs. */
export function testTaps(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(`values are read and replaced on ${device.name}`, async () => {
    const seen = new Map<string, Float32Array>();
    const replacements = new Map<string, Float32Array>();
    const handler: TapHandler = (value: TappedValue) => {
      assert.equal(value.rows, IDS.length, value.name);
      seen.set(value.name, value.values);
      return replacements.get(value.name);
    };
    const options = { context: 32, logitRows: IDS.length, cacheType: 'f32' } as const;
    const { model: path } = familyPaths({ name: 'qwen3', sizes: {} });
    await using plain = await device.open(path, options);
    const expected = await logitsOf(plain, IDS);
    const others = await logitsOf(plain, OTHERS);
    const taps = new Map(NAMES.map((name) => [name, handler]));
    await using model = await device.open(path, { ...options, taps });
    assertClose(await logitsOf(model, IDS), expected);
    assert.deepEqual([...seen.keys()], NAMES);
    assertClose(seen.get('logits') ?? new Float32Array(0), expected);
    // Another text's output of the last layer, put in place of this text's, yields the other text's logits.
    await logitsOf(model, OTHERS);
    replacements.set('blk.1.add 2', (seen.get('blk.1.add 2') ?? new Float32Array(0)).slice());
    assertClose(await logitsOf(model, IDS), others);
    replacements.clear();
    // Without attention's output, the residual stream after it is the embedding.
    const width = (seen.get('blk.0.attention')?.length ?? 0) / IDS.length;
    replacements.set('blk.0.attention', new Float32Array(IDS.length * width));
    await logitsOf(model, IDS);
    assertClose(seen.get('blk.0.add') ?? new Float32Array(0), seen.get('embedding') ?? new Float32Array(1));
    replacements.set('embedding', new Float32Array(3));
    await assert.rejects(logitsOf(model, IDS), { code: 'INVALID_ARGUMENT' });
  });
}

async function logitsOf(model: LanguageModel, ids: readonly number[]): Promise<Float32Array> {
  const all: number[] = [];
  for await (const { logits } of model.evaluate(ids)) all.push(...logits);
  return Float32Array.from(all);
}

function assertClose(actual: Float32Array, expected: Float32Array): void {
  assert.equal(actual.length, expected.length);
  const largest = actual.reduce(
    (most, value, i) => Math.max(most, Math.abs(value - (expected[i] ?? NaN))),
    0,
  );
  assert.ok(largest < 1e-4, `a value differs by ${largest}`);
}
