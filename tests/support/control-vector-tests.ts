import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LanguageModel } from '../../src/index.ts';
import { CONTROL_CASES, type ControlCase, writeControls } from './control-vectors.ts';
import { LARGEST_DIFFERENCE } from './family-fixtures.ts';
import { fixture } from './fixture.ts';
import type { GoldenDevice } from './golden-tests.ts';

/** llama.cpp's most likely tokens behind the text of each case: ids and log-probabilities. */
export const CONTROL_GOLDEN = JSON.parse(readFileSync(fixture('control-vectors.json'), 'utf8')) as Readonly<
  Record<string, readonly (readonly [id: number, logProbability: number])[]>
>;

const OPTIONS = { cacheType: 'f32', context: 64, batch: 32 } as const;

/** Compares with llama.cpp's results for models with control vectors: by default one of several layers. */
export function testControlVectors(device: GoldenDevice, names: readonly string[] = ['gemma3']): void {
  const declare = device.declare ?? test;
  for (const name of names) {
    const of = CONTROL_CASES[name];
    assert.ok(of, name);
    declare(`control vectors turn ${name} as in llama.cpp on ${device.name}`, async () => {
      const found = await withControls(of, async (controlVectors) => {
        const controlVectorLayers = of.layers;
        await using model = await device.open(of.model, { ...OPTIONS, controlVectors, controlVectorLayers });
        return await differenceTo(name, model, of);
      });
      assert.ok(found < LARGEST_DIFFERENCE, `a log-probability differs by ${found}`);
    });
  }
}

/** Calls `use` with a case's control vectors in files. */
export async function withControls<T>(
  of: ControlCase,
  use: (sources: readonly { location: string; scale: number }[]) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-'));
  try {
    return await use(await writeControls(of, folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The largest difference of the log-probabilities behind a case's text to llama.cpp's. */
export async function differenceTo(
  name: string,
  model: LanguageModel,
  { ids }: ControlCase,
): Promise<number> {
  const logProbabilities = await logProbabilitiesOf(model, ids);
  const golden = CONTROL_GOLDEN[name] ?? [];
  assert.ok(golden.length > 0, `no golden of ${name}`);
  return Math.max(...golden.map(([id, value]) => Math.abs((logProbabilities[id] ?? Number.NaN) - value)));
}

/** Of all tokens behind a text. */
async function logProbabilitiesOf(model: LanguageModel, ids: readonly number[]): Promise<Float64Array> {
  for await (const { logits } of model.evaluate(ids, ids.length - 1)) {
    const largest = logits.reduce((a, b) => Math.max(a, b));
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
    return Float64Array.from(logits, (logit) => logit - largest - Math.log(sum));
  }
  return new Float64Array(0);
}
