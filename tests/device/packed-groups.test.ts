import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packedGroups, quantPlanes, SCALE_BYTES, unaskedCopyBytes } from '../../src/device/index.ts';
import { NATIVE_LAYOUTS, WEIGHT_LAYOUTS } from '../../src/devices/cpu/weight-layouts.ts';
import { packedBytes } from '../../src/devices/hip-cuda/lowering/packed-formats.ts';
import { packedFormat, planePlaces } from '../../src/devices/webgpu/lowering/packed-formats.ts';
import { ALL_FORMATS } from '../../src/formats/index.ts';

/** How much more than the file a GPU takes at most: ternary digits become pairs of bits, which costs most. */
const MOST = 1.25;
const ROWS = 4096;
const COLUMNS = 4096;

for (const format of ALL_FORMATS) {
  const { layout, blockBytes, blockElements, name } = format;
  if (!layout) continue;
  test(`${name} has a layout of its own on every device, on GPUs about as large as in the file`, () => {
    const groups = packedGroups(format);
    const webgpu = packedFormat(format);
    assert.ok(groups && webgpu && WEIGHT_LAYOUTS[name]);
    const count = (ROWS * COLUMNS) / 32;
    const file = (32 / blockElements) * blockBytes * count;
    const planes = quantPlanes(groups.quants).reduce((sum, bytes) => sum + bytes, 0);
    const [own, shared] = SCALE_BYTES[groups.scales];
    const bytes = packedBytes(format, ROWS, COLUMNS);
    assert.equal(bytes, (planes + own / groups.span + shared / 8) * count);
    assert.ok(bytes <= MOST * file);
    assert.equal(packedBytes(format, ROWS - 7, COLUMNS), bytes, 'rows fill up tiles of eight');
    if (blockElements === 32)
      assert.equal(packedBytes(format, ROWS, COLUMNS - 96), bytes, 'groups fill up tiles of four');
    assert.ok(planePlaces(webgpu, count).byteLength <= MOST * file);
  });
}

test('native kernels of the CPU read weights of four to six bits about as large as in the file, and none larger than others do', () => {
  for (const { layout, name, blockBytes, blockElements } of ALL_FORMATS) {
    if (!layout) continue;
    const bytes = NATIVE_LAYOUTS[name]?.packedBytes(ROWS, COLUMNS) ?? Number.POSITIVE_INFINITY;
    assert.ok(bytes <= (WEIGHT_LAYOUTS[name]?.packedBytes(ROWS, COLUMNS) ?? 0), name);
    const file = ((ROWS * COLUMNS) / blockElements) * blockBytes;
    if (/^Q[456]_[01K]$/.test(name)) assert.ok(bytes <= 1.03 * file, `${name}: ${bytes / file}`);
  }
});

test('copies of weights take a quarter of a GPU unasked, and half of one for computing alone', () => {
  const GIB = 2 ** 30;
  assert.deepEqual(
    [24, 63, 64, 80].map((gib) => unaskedCopyBytes(gib * GIB) / GIB),
    [6, 15.75, 32, 40],
  );
});

test('numbers have none', () => {
  for (const format of ALL_FORMATS) {
    if (!format.layout) assert.equal(packedGroups(format), undefined, format.name);
  }
});
