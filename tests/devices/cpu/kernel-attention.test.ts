import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floatToHalf, halfToFloat } from '../../../src/base/half.ts';
import {
  ATTENTION_PARAMETER_BYTES,
  type AttentionKernelParameters,
  attentionScratchBytes,
  writeAttentionParameters,
} from '../../../src/devices/cpu/kernel-exports.ts';
import { KERNEL_VARIANTS, KernelBench } from '../../support/cpu-kernels.ts';
import { nativeHere } from '../../support/native-kernels.ts';
import { seededRandom } from '../../support/random.ts';

interface Shape {
  readonly kvHeads: number;
  readonly group: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly cacheType: 'f16' | 'f32';
  readonly blockSize: number;
  readonly softCap: number;
  readonly begin: number;
  readonly end: number;
}

const PLAIN: Shape = {
  kvHeads: 2,
  group: 4,
  keySize: 64,
  valueSize: 64,
  cacheType: 'f32',
  blockSize: 16,
  softCap: 0,
  begin: 0,
  end: 77,
};

const CASES: Readonly<Record<string, Partial<Shape>>> = {
  'one position': { end: 1 },
  'a part of a chunk': { end: 7 },
  'whole chunks': { end: 64 },
  'several chunks': {},
  'halves in the cache': { cacheType: 'f16' },
  'a window': { begin: 45, end: 130 },
  'a soft cap': { softCap: 2.5 },
  'one head alone, of 80': { group: 1, keySize: 80, valueSize: 80 },
  'heads of 256 in halves': { keySize: 256, valueSize: 256, cacheType: 'f16' },
  'narrow heads and blocks of one': { keySize: 4, valueSize: 12, blockSize: 1 },
  'keys wider than values': { keySize: 96, valueSize: 32, kvHeads: 3, group: 7 },
  'a long context': { end: 1500, keySize: 32, valueSize: 32 },
};

const { offers } = await nativeHere();
const benches = [
  ...KERNEL_VARIANTS.map((variant) => new KernelBench(variant)),
  ...offers.map((native) => new KernelBench('relaxed', native)),
];

/** A shuffled block table and a cache with room for all of it. */
function cacheOf(shape: Shape) {
  const random = seededRandom(shape.end + shape.keySize);
  const blockCount = Math.ceil(shape.end / shape.blockSize);
  const blocks = Int32Array.from({ length: blockCount }, (_, i) => i);
  for (let i = blockCount - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [blocks[i], blocks[j]] = [blocks[j] as number, blocks[i] as number];
  }
  const cells = blockCount * shape.blockSize;
  const rounded = (count: number) =>
    Float32Array.from({ length: count }, () => {
      const value = Math.fround(4 * random() - 2);
      return shape.cacheType === 'f16' ? halfToFloat(floatToHalf(value)) : value;
    });
  const heads = shape.kvHeads * shape.group;
  return {
    blocks,
    keys: rounded(cells * shape.kvHeads * shape.keySize),
    values: rounded(cells * shape.kvHeads * shape.valueSize),
    q: Float32Array.from({ length: heads * shape.keySize }, () => 2 * random() - 1),
  };
}

type Cache = ReturnType<typeof cacheOf>;

const SCALE = 0.3;
const WITHOUT_TERMS = {
  ...{ temperatureScale: 0, temperatureLength: 0, temperatureOffset: 0 },
  ...{ chunk: 0, alibiBias: 0, alibiHeads: 0 },
};

/** Attention of one head, in f64. */
function exactHead(shape: Shape, cache: Cache, head: number): Float64Array {
  const { keySize, valueSize, kvHeads, blockSize, softCap } = shape;
  const kvHead = Math.floor(head / shape.group);
  const cellOf = (p: number) =>
    (cache.blocks[Math.floor(p / blockSize)] as number) * blockSize + (p % blockSize);
  const scores: number[] = [];
  for (let p = shape.begin; p < shape.end; p++) {
    const key = (cellOf(p) * kvHeads + kvHead) * keySize;
    let score = 0;
    for (let d = 0; d < keySize; d++) {
      score += (cache.q[head * keySize + d] as number) * (cache.keys[key + d] as number);
    }
    scores.push(softCap ? softCap * Math.tanh((SCALE * score) / softCap) : SCALE * score);
  }
  const top = Math.max(...scores);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  const out = new Float64Array(valueSize);
  for (const [i, score] of scores.entries()) {
    const value = (cellOf(shape.begin + i) * kvHeads + kvHead) * valueSize;
    const weight = Math.exp(score - top) / total;
    for (let d = 0; d < valueSize; d++) {
      out[d] = (out[d] as number) + weight * (cache.values[value + d] as number);
    }
  }
  return out;
}

function attend(bench: KernelBench, shape: Shape, cache: Cache): Float32Array {
  bench.reset();
  const { kvHeads, group, keySize, valueSize, cacheType } = shape;
  const elementBytes = cacheType === 'f16' ? 2 : 4;
  const stored = (values: Float32Array) =>
    bench.put(cacheType === 'f16' ? Uint16Array.from(values, floatToHalf) : values);
  const parameters: AttentionKernelParameters = {
    ...shape,
    keyCellBytes: kvHeads * keySize * elementBytes,
    valueCellBytes: kvHeads * valueSize * elementBytes,
    keyScaleBytes: 0,
    valueScaleBytes: 0,
    keyType: cacheType,
    valueType: cacheType,
    scores: { scale: SCALE, softCap: shape.softCap, window: 0, sinks: 0, ...WITHOUT_TERMS },
  };
  const p = bench.alloc(ATTENTION_PARAMETER_BYTES);
  writeAttentionParameters(new DataView(bench.memory.buffer), p, parameters);
  const [keys, values] = [stored(cache.keys), stored(cache.values)];
  const [q, blocks] = [bench.put(cache.q), bench.put(cache.blocks)];
  const out = bench.alloc(4 * kvHeads * group * valueSize);
  const scratch = bench.alloc(attentionScratchBytes(group, keySize, valueSize));
  for (let head = 0; head < kvHeads; head++) {
    bench.kernels.attention(
      q + 4 * head * group * keySize,
      keys + head * keySize * elementBytes,
      values + head * valueSize * elementBytes,
      out + 4 * head * group * valueSize,
      blocks,
      p,
      shape.begin,
      shape.end,
      scratch,
      0,
      0,
      head,
      shape.end - 1,
    );
  }
  bench.checkGuards();
  return bench.floats(out, kvHeads * group * valueSize);
}

for (const [name, differs] of Object.entries(CASES)) {
  test(`attention over ${name}`, () => {
    const shape = { ...PLAIN, ...differs };
    const cache = cacheOf(shape);
    const [first, second] = benches.map((bench) => attend(bench, shape, cache)) as [
      Float32Array,
      Float32Array,
    ];
    assert.deepEqual(first, second, 'both builds agree');
    // Halves are weighed by halves: each weight is off by up to 2^-12 of itself.
    const limit = shape.cacheType === 'f16' ? 3e-4 : 3e-6;
    for (let head = 0; head < shape.kvHeads * shape.group; head++) {
      const exact = exactHead(shape, cache, head);
      for (const [d, value] of exact.entries()) {
        const got = first[head * shape.valueSize + d] as number;
        assert.ok(Math.abs(got - value) < limit, `head ${head}, value ${d}: ${got} for ${value}`);
      }
    }
  });
}
