import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChosenMatrices, type MatrixRows, OwnMatrices } from '../../../src/devices/cpu/worker/matrix-rows.ts';

/** The parts of each matrix, and of none. */
function partsOf(rows: MatrixRows): number[][] {
  return Array.from({ length: rows.matrices + 1 }, (_, matrix) =>
    Array.from({ length: rows.countOf(matrix) }, (_part, i) => rows.partOf(matrix, i)),
  );
}

test('parts are listed by the matrix that is chosen for them, those of none apart, again for each step', () => {
  const chosen = Int32Array.of(2, 0, 2, 2, -1, 3, 0, 1);
  const rows = new ChosenMatrices(chosen, 2, 3);
  rows.look(4);
  assert.deepEqual(partsOf(rows), [[1, 6], [7], [0, 2, 3], [4, 5]]);
  chosen.set([1, 1, 1, 0]);
  rows.look(2);
  assert.deepEqual(partsOf(rows), [[3], [0, 1, 2], [], []]);
});

test('each part of a row has the matrix of its own index', () => {
  const rows = new OwnMatrices(3);
  rows.look(2);
  assert.deepEqual(partsOf(rows), [[0, 3], [1, 4], [2, 5], []]);
});
