import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockDecoder, Device } from '../../src/device/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { LanguageModel } from '../../src/engine/language-model.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { WEIGHT_POLICIES, type WeightPolicy } from '../../src/formats/weight-policy.ts';
import { openCpu, openDecoder } from '../../src/node/open-cpu.ts';
import { tinyModel } from '../support/tiny-model.ts';

const IDS = Array.from({ length: 12 }, (_, i) => 3 + ((i * 37) % 256));

async function logits(
  matrix: string,
  policy: WeightPolicy,
  on: { device: Device; decoder?: BlockDecoder },
): Promise<Float32Array> {
  const parts = { gguf: await tinyModel(matrix), architectures: ALL_ARCHITECTURES, ...on };
  await using model = await LanguageModel.open(parts, { weights: policy });
  const all: number[] = [];
  for await (const { logits: row } of model.evaluate(IDS, IDS.length - 1)) all.push(...row);
  return Float32Array.from(all);
}

test('weights decoded to f32 give what the blocks give, bit for bit, on any decoder', async () => {
  for (const matrix of ['Q4_0', 'BF16']) {
    const expected = await logits(matrix, 'blocks', { device: openReferenceDevice() });
    assert.deepEqual(await logits(matrix, 'f32', { device: openReferenceDevice() }), expected, matrix);
    const on = { device: openReferenceDevice(), decoder: await openDecoder({ threads: 2 }) };
    assert.deepEqual(await logits(matrix, 'f32', on), expected, matrix);
  }
});

/** Relative squared error on the CPU, which rounds activations to eight bits where it multiplies blocks. */
const LIMITS: Readonly<Record<WeightPolicy, number>> = { blocks: 0.02, f16: 1e-5, f32: 1e-5 };

test('every policy is near the reference on the CPU, its own decoding threads filling its memory', async () => {
  const expected = await logits('Q8_0', 'blocks', { device: openReferenceDevice() });
  const size = expected.reduce((sum, value) => sum + value ** 2, 0);
  for (const policy of WEIGHT_POLICIES) {
    const on = { device: await openCpu({ threads: 2 }), decoder: await openDecoder({ threads: 2 }) };
    const found = await logits('Q8_0', policy, on);
    const error = found.reduce((sum, value, i) => sum + (value - (expected[i] ?? 0)) ** 2, 0);
    assert.ok(error / size < LIMITS[policy], `${policy}: ${error / size}`);
  }
});
