import { F32, Q4_0, type TensorFormat } from '../../../../src/formats/index.ts';
import { embed } from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch } from '../ragged-batch.ts';
import { WEIGHT_FORMATS } from './weight-formats.ts';

const ROWS = 50;

function embedCase(format: TensorFormat, columns: number, batch: RaggedBatch): OpCase {
  return {
    op: 'embed',
    name: `${format.name} ${ROWS} x ${columns}, ${batch.rows} rows`,
    batch,
    record: (g) => ({ y: embed(g, g.weight('table', format, ROWS, columns)) }),
  };
}

const outside: OpCase = {
  op: 'embed',
  name: 'ids outside the table give zeros',
  batch: { ...plainBatch(5), ids: [3, -1, ROWS, 2 ** 30, ROWS - 1] },
  record: (g) => ({ y: embed(g, g.weight('table', Q4_0, ROWS, 64)) }),
};

/** Every format once as a table, with odd widths and larger batches for some. */
export const EMBED_CASES: readonly OpCase[] = [
  ...WEIGHT_FORMATS.map((format) => embedCase(format, 512, mixedBatch())),
  ...[1, 7, 33, 1025].map((columns) => embedCase(F32, columns, plainBatch(3))),
  ...[1, 3, 4, 7, 33].map((rows) => embedCase(Q4_0, 96, plainBatch(rows))),
  outside,
];
