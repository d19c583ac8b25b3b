import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../src/device/index.ts';
import { DeviceGroup } from '../../src/devices/group/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { ALL_FORMATS, formatNamed, type TensorFormat } from '../../src/formats/index.ts';
import { GgufFile, GgufWriter } from '../../src/gguf/index.ts';
import { LanguageModel } from '../../src/index.ts';
import { MemorySink, MemorySource } from '../../src/io/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { writeRandomWeights } from '../../src/model/synthetic/random-weights.ts';
import type { SyntheticShape } from '../../src/model/synthetic-family.ts';
import { syntheticPlan } from '../../src/model/synthetic/synthetic-plan.ts';
import fc from './fast-check.ts';
import { largestDifference, logitsOf } from './prompt-chunk-tests.ts';

/** Of each way to split, an architecture: see `src/plan/ranks/split-rules.ts`. */
const ARCHITECTURES = [
  'llama',
  'phi3',
  'gemma3',
  'qwen3moe',
  'gpt-oss',
  'deepseek2',
  'qwen35',
  'qwen3next',
  'kimi-linear',
  'mamba',
  'mamba2',
  'nemotron_h',
  'falcon-h1',
  'lfm2',
  'rwkv6',
  'rwkv7',
] as const;

/** Formats of numbers that matrices have. */
const FORMATS = ALL_FORMATS.map(({ name }) => name).filter((name) => !/^(?:I\d+|F64)$/.test(name));

/** Tokens whose logits are compared. */
const IDS = [1, 5, 9, 3, 7];

/** Sums of parts are rounded in another order; everything else is the same. */
const TOLERANCE = 2e-3;

/** A model, how many ranks it is split over, and from how many elements on a matrix is cut whatever reads it. */
interface SplitCase {
  readonly shape: SyntheticShape;
  readonly format: string;
  readonly ranks: number;
  readonly gatherAtLeast: number;
  readonly seed: number;
}

const CASES: fc.Arbitrary<SplitCase> = fc
  .record({
    architecture: fc.constantFrom(...ARCHITECTURES),
    format: fc.constantFrom(...FORMATS),
    ranks: fc.integer({ min: 2, max: 8 }),
    gatherAtLeast: fc.constantFrom(1, 4096, 2 ** 20),
    kvHeads: fc.constantFrom(1, 2, 3, 4, 8),
    shared: fc.constantFrom(1, 2, 3),
    headSize: fc.constantFrom(16, 32),
    hidden: fc.constantFrom(32, 96, 160, 256, 768),
    expertHidden: fc.constantFrom(32, 64, 256),
    vocabulary: fc.constantFrom(61, 64, 97),
    seed: fc.integer({ min: 1, max: 1 << 20 }),
  })
  .map(({ architecture, format, ranks, gatherAtLeast, seed, kvHeads, shared, ...sizes }) => ({
    shape: shapeOf(architecture, { ...sizes, kvHeads, heads: kvHeads * shared }),
    format,
    ranks,
    gatherAtLeast,
    seed,
  }));

/** RWKV's heads have 64 values, and Mamba-2's are an even number. */
function shapeOf(
  architecture: string,
  sizes: Pick<SyntheticShape, 'heads' | 'kvHeads' | 'hidden' | 'vocabulary'> & {
    readonly headSize: number;
    readonly expertHidden: number;
  },
): SyntheticShape {
  const { expertHidden, headSize, ...given } = sizes;
  const even = /mamba|nemotron|falcon/.test(architecture) ? 2 : 1;
  const dense = { ...given, heads: even * given.heads };
  const base = { architecture, layers: 2, context: 64, ropeBase: 10_000, ...dense };
  if (architecture.startsWith('rwkv')) return { ...base, width: 64 * dense.kvHeads, heads: dense.kvHeads };
  const isMixture = /moe|gpt-oss|deepseek|next|kimi/.test(architecture);
  return {
    ...base,
    width: headSize * dense.heads,
    ...(isMixture && { experts: 8, chosenExperts: 2, expertHidden }),
  };
}

/** Declares that random models over random numbers of ranks compute what they compute on one device. */
export function testShards(runs: number): void {
  test(`the shards of ${runs} random models compute what the whole does`, () =>
    fc.assert(fc.asyncProperty(CASES, computesAlike), { numRuns: runs }));
}

async function computesAlike({ shape, ranks, gatherAtLeast, ...of }: SplitCase): Promise<void> {
  const format = formatNamed(of.format) ?? assert.fail(of.format);
  const bytes = await bytesOf(shape, format, of.seed);
  const alone = await logitsOn(openReferenceDevice(), bytes);
  const devices = Array.from({ length: ranks }, () => openReferenceDevice());
  const split = await logitsOn(new DeviceGroup(devices, { gatherAtLeast }), bytes);
  const difference = largestDifference(alone, split);
  assert.ok(difference < TOLERANCE, `a logit differs by ${difference}`);
}

async function bytesOf(shape: SyntheticShape, format: TensorFormat, seed: number): Promise<Uint8Array> {
  const sink = new MemorySink();
  const writer = await GgufWriter.begin(sink, await syntheticPlan('random', shape, { format }));
  await writeRandomWeights(writer, { seed });
  return sink.bytes();
}

/** The logits on a device, which is disposed. */
async function logitsOn(device: Device, bytes: Uint8Array): Promise<Float32Array[]> {
  const gguf = await GgufFile.open(new MemorySource(bytes, 'random.gguf'));
  const parts = { gguf, device, architectures: ALL_ARCHITECTURES };
  const options = { context: 16, batch: 4, logitRows: 4, cacheType: 'f32' } as const;
  await using model = await LanguageModel.open(parts, options);
  return await logitsOf(model, IDS);
}
