import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALL_FORMATS, formatNamed, formatOf } from '../../src/formats/index.ts';
import { fixture } from '../support/fixture.ts';

interface Vector {
  readonly type: string;
  readonly ggmlType: number;
  readonly blockSize: number;
  readonly typeSize: number;
  readonly elements: number;
  readonly bytes: number;
}

const vectors: readonly Vector[] = JSON.parse(readFileSync(fixture('quant-vectors/index.json'), 'utf8'));

for (const vector of vectors) {
  test(`${vector.type} decodes bit-exactly at any offset`, () => {
    const format = formatNamed(vector.type);
    assert.ok(format);
    assert.equal(format.ggmlType, vector.ggmlType);
    assert.equal(format.blockElements, vector.blockSize);
    assert.equal(format.blockBytes, vector.typeSize);

    const blocks = readFileSync(fixture(`quant-vectors/${vector.type}.bin`));
    const expected = new Uint8Array(readFileSync(fixture(`quant-vectors/${vector.type}.f32`)));
    assert.equal(blocks.byteLength, vector.bytes);
    for (const shift of [0, 1, 3]) {
      const src = new Uint8Array(new SharedArrayBuffer(blocks.byteLength + shift));
      src.set(blocks, shift);
      const dst = new Float32Array(vector.elements + shift + 1).fill(Number.NaN);
      format.decode(src, shift, dst, shift, vector.elements / vector.blockSize);
      const decoded = dst.slice(shift, shift + vector.elements);
      assert.deepEqual(new Uint8Array(decoded.buffer), expected);
      assert.ok(Number.isNaN(dst[shift + vector.elements]), 'wrote past its blocks');
    }
  });
}

test('there are vectors for every format but the plain ones', () => {
  const tested = new Set(vectors.map((vector) => vector.type));
  const untested = ALL_FORMATS.filter((format) => !tested.has(format.name)).map((format) => format.name);
  assert.deepEqual(untested.sort(), ['F32', 'F64', 'I16', 'I32', 'I64', 'I8']);
});

test('formats are found by id and by name in any case', () => {
  for (const format of ALL_FORMATS) {
    assert.equal(formatOf(format.ggmlType), format);
    assert.equal(formatNamed(format.name.toLowerCase()), format);
  }
  assert.equal(formatOf(4), undefined);
  assert.equal(formatNamed('Q9_Z'), undefined);
  assert.equal(new Set(ALL_FORMATS.map((format) => format.ggmlType)).size, ALL_FORMATS.length);
});
