import assert from 'node:assert/strict';
import { test } from 'node:test';
import { halfToFloat } from '../../src/base/half.ts';
import { ALL_FORMATS, type BitField, type BlockLayout, type BlockNumber } from '../../src/formats/index.ts';
import { seededRandom } from '../support/random.ts';

function fieldOf(block: Uint8Array, { at, bits, steps }: BitField, element: number): number {
  const first = steps.reduce((sum, step, k) => sum + ((element >> k) & 1) * step, at);
  let value = 0;
  for (let i = 0; i < bits; i++) {
    const place = first + i;
    value |= (((block[place >> 3] as number) >> (place & 7)) & 1) << i;
  }
  return value;
}

function numberOf(block: Uint8Array, number: BlockNumber, element: number): number {
  const fields = 'bit' in number ? ((element >> number.bit) & 1 ? number.set : number.clear) : number;
  let shift = 0;
  let value = 0;
  for (const each of fields) {
    value |= fieldOf(block, each, element) << shift;
    shift += each.bits;
  }
  return value;
}

function digitOf(
  block: Uint8Array,
  { runs }: { runs: readonly { start: number; bytes: number; digits: number }[] },
  element: number,
): number {
  let rest = element;
  for (const { start, bytes, digits } of runs) {
    if (rest < bytes * digits) {
      const power = 3 ** Math.floor(rest / bytes);
      return ((((block[start + (rest % bytes)] as number) * power) & 255) * 3) >> 8;
    }
    rest -= bytes * digits;
  }
  throw new Error('no run holds the element');
}

function levelOf(block: Uint8Array, { levels }: BlockLayout, element: number): number {
  if (levels.kind === 'grid') {
    const { book, width, entry, change } = levels;
    const own = book()[numberOf(block, entry, element) * width + (element % width)] as number;
    if (change.kind === 'shift') return 8 * own + (numberOf(block, change.down, element) === 1 ? -1 : 1);
    let signs = numberOf(block, change.signs, element);
    if (change.even) for (let i = 0; i < 7; i++) signs ^= ((signs >> i) & 1) << 7;
    return (signs >> (element & 7)) & 1 ? -own : own;
  }
  const { code, level } = levels;
  const q = 'runs' in code ? digitOf(block, code, element) : numberOf(block, code, element);
  if (level.kind === 'linear') return level.step * q - level.less;
  return level.kind === 'signed' ? (q << 24) >> 24 : (level.table[q] as number);
}

function scaleOf(block: Uint8Array, { scale }: BlockLayout, element: number): number {
  const bits = numberOf(block, scale.number, element);
  const eighths = bits === 0x7f ? 0 : (bits & 7) + ((bits & 0x78) === 0 ? 0 : 8);
  const number = {
    half: () => halfToFloat(bits),
    e8m0: () => 2 ** (bits - 128),
    e4m3: () => eighths * 2 ** (Math.max(1, (bits >> 3) & 15) - 11),
  }[scale.as]();
  const { unit = 1, sub } = scale;
  if (!sub) return unit * number;
  const own = numberOf(block, sub.number, element);
  if (sub.as === 'odd') return unit * number * (2 * own + 1);
  return unit * number * (sub.as === 'signed' ? (own << 24) >> 24 : own - sub.as.less);
}

function minOf(block: Uint8Array, { min }: BlockLayout, element: number): number {
  if (!min) return 0;
  const number = halfToFloat(numberOf(block, min.number, element));
  return min.sub ? -number * numberOf(block, min.sub, element) : number;
}

for (const format of ALL_FORMATS) {
  const { layout, blockElements, blockBytes } = format;
  if (!layout) continue;
  test(`${format.name} is what its layout says, bit for bit`, () => {
    const blocks = 50;
    const bytes = new Uint8Array(blocks * blockBytes);
    format.fillRandom(bytes, seededRandom(11), 1);
    const decoded = new Float32Array(blocks * blockElements);
    format.decode(bytes, 0, decoded, 0, blocks);
    const described = decoded.map((_, i) => {
      const block = bytes.subarray(Math.floor(i / blockElements) * blockBytes);
      const element = i % blockElements;
      const product = Math.fround(scaleOf(block, layout, element)) * levelOf(block, layout, element);
      return layout.min ? Math.fround(product) + Math.fround(minOf(block, layout, element)) : product;
    });
    assert.deepEqual(new Uint8Array(described.buffer), new Uint8Array(decoded.buffer));
  });
}

test('codebooks consist of the levels that they say', () => {
  const grids = ALL_FORMATS.flatMap(({ layout }) => (layout?.levels.kind === 'grid' ? layout.levels : []));
  assert.ok(grids.length > 5);
  for (const { book } of grids)
    assert.deepEqual(
      [...new Set(book())].sort((a, b) => a - b),
      book.levels,
    );
});
