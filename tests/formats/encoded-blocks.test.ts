import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALL_FORMATS } from '../../src/formats/index.ts';
import { fixture } from '../support/fixture.ts';
import { ROW_ELEMENTS, rowsToEncode } from '../support/rows-to-encode.ts';

const { rows, importance } = rowsToEncode();

// Values are compared, not bytes: where a scale is zero, codes may be anything.
for (const format of ALL_FORMATS.filter(({ encode, layout }) => encode && layout)) {
  test(`${format.name} encodes each block to the values of ggml's, with importance and without`, () => {
    const golden = new Uint8Array(readFileSync(fixture(`encoded-blocks/${format.name}.bin`)));
    const blocks = ROW_ELEMENTS / format.blockElements;
    const rowBytes = blocks * format.blockBytes;
    assert.equal(golden.length, 2 * rows.length * rowBytes);
    const [ours, theirs] = [new Float32Array(ROW_ELEMENTS), new Float32Array(ROW_ELEMENTS)];
    for (const [pass, weights] of [undefined, importance].entries()) {
      for (const [i, row] of rows.entries()) {
        // Bytes that are not zero: an encoder must overwrite all of them.
        const bytes = new Uint8Array(rowBytes + 1).fill(0xff);
        format.encode?.(row, 0, bytes, 1, blocks, weights);
        format.decode(bytes, 1, ours, 0, blocks);
        format.decode(golden, (pass * rows.length + i) * rowBytes, theirs, 0, blocks);
        // Zeros of either sign are equal.
        assert.deepEqual(
          Array.from(ours, (value) => value + 0),
          Array.from(theirs, (value) => value + 0),
          `row ${i}`,
        );
      }
    }
  });
}
