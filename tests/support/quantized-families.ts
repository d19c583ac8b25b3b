import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Q4_K, Q8_0, type TensorFormat } from '../../src/formats/index.ts';
import type { RankedLogit } from '../../src/evaluate/golden.ts';
import { syntheticShape } from '../../src/model/synthetic/shapes.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import { writeSyntheticModel } from '../../src/node/write-synthetic-model.ts';
import { FAMILY_FIXTURES, type FamilyFixture } from './family-fixtures.ts';
import { fixture } from './fixture.ts';
import type { GoldenDevice } from './golden-tests.ts';
import { temporaryFolder } from './temporary.ts';

/** A family's small random model with its matrices in a format. */
export interface QuantizedFamily {
  readonly name: string;
  readonly family: FamilyFixture;
  readonly format: TensorFormat;
  readonly shape: SyntheticShape;
}

/** Widths that blocks divide, as far as the architecture allows; other rows are in Q8_0 or F16, as in published files. */
const FORMATS: readonly (readonly [TensorFormat, width: number])[] = [
  [Q8_0, 64],
  [Q4_K, 256],
];

/** Widths of heads that llama.cpp assumes whatever the file says, or that what it rotates allows. Default: four heads. */
const HEAD_SIZES: Readonly<Record<string, number>> = {
  ...{ rwkv6: 64, rwkv6qwen2: 64, rwkv7: 64, arwkv7: 64 },
  'minimax-m3': 16,
};

/** Every family that continues or embeds texts, in each format. */
export const QUANTIZED_FAMILIES: readonly QuantizedFamily[] = FORMATS.flatMap(([format, width]) =>
  FAMILY_FIXTURES.filter(({ scores }) => scores === undefined).map((family) => {
    const { name, architecture = name, sizes } = family;
    const heads = width / (HEAD_SIZES[name] ?? width / 4);
    const kvHeads = Math.min(sizes.kvHeads ?? 2, heads);
    const own = { width, heads, kvHeads, hidden: width === 64 ? 96 : width };
    return {
      ...{ name: `${name} in ${format.name}`, family, format },
      shape: syntheticShape('tiny', { architecture, ...sizes, ...own }),
    };
  }),
);

/** llama.cpp's results, one line per model: the best logits of the last positions, or the embedding. */
export const QUANTIZED_GOLDEN = fixture('families/quantized.jsonl');

/** A line of the golden. */
export interface QuantizedResult {
  readonly model: string;
  readonly ids: readonly number[];
  readonly from?: number;
  readonly top?: readonly (readonly RankedLogit[])[];
  readonly vector?: readonly number[];
}

/** Writes the model, the same bytes each time. */
export async function writeQuantized(
  { family, format, shape }: QuantizedFamily,
  path: string,
): Promise<void> {
  await writeSyntheticModel({ path, name: 'tiny', shape, family: family.family, format, seed: 1 });
}

/**
 * Compares each model with llama.cpp, which rounds activations to 8 bits: where a value lies between two of them, the order of a sum
 * decides, and where a router's or an indexer's scores are close, another one is chosen, so that single positions differ by much.
 * Therefore the median of the positions' differences must be below `limit`, which a device that rounds otherwise, or not at all, needs
 * higher; another computation differs by about 1 at every position.
 */
export function testQuantizedFamilies(device: GoldenDevice, limit: number): void {
  const declare = device.declare ?? test;
  const path = join(temporaryFolder({ after }), 'model.gguf');
  for (const of of QUANTIZED_FAMILIES) {
    declare(`${of.name}: as llama.cpp has it on ${device.name}`, () => compare(of, { device, limit, path }));
  }
}

async function compare(
  of: QuantizedFamily,
  { device, limit, path }: { device: GoldenDevice; limit: number; path: string },
): Promise<void> {
  const start = `{"model":${JSON.stringify(of.name)},`;
  const line = (await readFile(QUANTIZED_GOLDEN, 'utf8')).split('\n').find((text) => text.startsWith(start));
  assert.ok(line, `the golden has ${of.name}`);
  const expected = JSON.parse(line) as QuantizedResult;
  await writeQuantized(of, path);
  const differences = (await differencesOf(path, expected, device)).toSorted((a, b) => a - b);
  const middle = differences[differences.length >> 1] ?? Number.NaN;
  assert.ok(middle < limit, `half of the positions differ by ${middle} or more`);
}

/** The largest difference at each position, relative to the largest value where that is above 1. */
async function differencesOf(
  path: string,
  { ids, from = 0, top = [], vector }: QuantizedResult,
  device: GoldenDevice,
): Promise<number[]> {
  await using model = await device.open(path, { context: 64, batch: 32, logitRows: 32, cacheType: 'f32' });
  if (vector) {
    const { vector: own } = await model.embed(ids, { normalized: false });
    return [
      relative(
        vector.map((value, at) => [at, value]),
        own,
      ),
    ];
  }
  const found: number[] = [];
  for await (const { logits, position } of model.evaluate(ids, from)) {
    found.push(relative(top[position - from] ?? [], logits));
  }
  assert.equal(found.length, top.length);
  return found;
}

function relative(expected: readonly RankedLogit[], values: Float32Array): number {
  const largest = expected.reduce((most, [, value]) => Math.max(most, Math.abs(value)), 1);
  const differences = expected.map(([at, value]) => Math.abs(value - (values[at] ?? Number.NaN)));
  return Math.max(...differences) / largest;
}
