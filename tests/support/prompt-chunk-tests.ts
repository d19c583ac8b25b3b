import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { familyPaths } from './family-fixtures.ts';
import type { GoldenDevice } from './golden-tests.ts';

/** The random RWKV-7. */
export const RWKV7 = familyPaths({ name: 'rwkv7', sizes: {} }).model;

/** Longer than two chunks of any device's recurrence. */
export const PROMPT: readonly number[] = Array.from({ length: 45 }, (_, i) => (5 + 11 * i + i * i) % 61);

/** Rows per step: the whole prompt, pieces that end within a device's chunks, and single tokens. */
const BATCHES = [48, 19, 1] as const;

/** A recurrence reaches the same state however a prompt is split. */
export function testPromptChunks(device: GoldenDevice): void {
  const declare = device.declare ?? test;
  declare(`a prompt in one piece, in many and token by token on ${device.name}`, async () => {
    let expected: Float32Array[] | undefined;
    const { rows = PROMPT.length } = device;
    // With fewer rows than the prompt has, it is split anyway.
    for (const batch of rows < PROMPT.length ? [rows, 1] : BATCHES) {
      await using model = await device.open(RWKV7, { context: 64, batch, logitRows: batch });
      const logits = await logitsOf(model, PROMPT);
      expected ??= logits;
      const difference = largestDifference(logits, expected);
      assert.ok(difference < 1e-4, `${batch} at once: a logit differs by ${difference}`);
    }
  });
}

/** The logits at every position. */
export async function logitsOf(model: LanguageModel, ids: readonly number[]): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  for await (const { logits } of model.evaluate(ids)) rows.push(logits.slice());
  return rows;
}

/** The largest difference between two texts' logits. */
export function largestDifference(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  assert.equal(a.length, b.length);
  const rows = a.map((row, r) => Math.max(...row.map((value, i) => Math.abs(value - (b[r]?.[i] ?? NaN)))));
  return Math.max(...rows);
}
