import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALL_FORMATS } from '../../src/formats/index.ts';
import { fixture } from '../support/fixture.ts';
import { ROW_ELEMENTS, rowsToEncode } from '../support/rows-to-encode.ts';

const { rows, importance } = rowsToEncode();

/** Blocks that ggml encodes worse, by mistakes that we do not share: there the error is compared, not the values. */
const WORSE: Readonly<Record<string, string>> = {
  IQ2_XXS: 'codes of -1 become 255 in the search for its first scale',
  IQ3_S: 'after a group of zeros, later groups are written to the place of earlier ones',
};

/** The largest share of ggml's error that a block may have. */
const SHARE = 1.02;

function errorOf(
  decoded: Float32Array,
  row: Float32Array,
  from: number,
  to: number,
  weights?: Float32Array,
): number {
  let sum = 0;
  for (let i = from; i < to; i++) {
    sum += (weights?.[i] ?? 1) * ((decoded[i] as number) - (row[i] as number)) ** 2;
  }
  return sum;
}

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
        format.encode?.(row, 0, bytes, 1, blocks, { importance: weights });
        format.decode(bytes, 1, ours, 0, blocks);
        format.decode(golden, (pass * rows.length + i) * rowBytes, theirs, 0, blocks);
        for (let from = 0; from < ROW_ELEMENTS; from += format.blockElements) {
          const to = from + format.blockElements;
          const own = errorOf(ours, row, from, to, weights);
          assert.ok(own <= SHARE * errorOf(theirs, row, from, to, weights), `row ${i}, block at ${from}`);
        }
        if (WORSE[format.name]) continue;
        // Zeros of either sign are equal.
        const values = (decoded: Float32Array) => Array.from(decoded, (value) => value + 0);
        assert.deepEqual(values(ours), values(theirs), `row ${i}`);
      }
    }
  });
}
