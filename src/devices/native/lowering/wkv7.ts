import { fail } from '../../../base/errors.ts';
import type { Tensor, Weight, Wkv7Op } from '../../../ops/index.ts';
import { float, int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/** A block has a thread, or four, for each row of a head's matrix. */
const LARGEST_HEAD = 256;
/** Threads that share a row of the matrix, where its columns divide into fours for each. */
const SPLIT = 4;

/** What is computed with the recurrence: see `wkv7.hip`. */
export interface WkvSurroundings {
  /** The key before it is drawn and scaled. */
  readonly key: Tensor;
  readonly removalFactors: Weight;
  readonly draws: Weight;
  readonly ownFactors: Weight;
  readonly normFactors: Weight;
  readonly normTerms: Weight;
  readonly gate: Tensor;
  readonly lengthEpsilon: number;
  readonly normEpsilon: number;
  readonly out: Tensor;
}

export function lowerWkv7(op: Wkv7Op, to: Lowering): void {
  launchWkv7(op, to, undefined);
}

/** True for heads whose threads fill warps. */
export function hasWholeWarps({ headSize }: Wkv7Op): boolean {
  return headSize % (4 * SPLIT) === 0 && headSize <= LARGEST_HEAD;
}

/** The recurrence, and what stands around it. */
export function launchWkv7(op: Wkv7Op, to: Lowering, mixed: WkvSurroundings | undefined): void {
  const { r, w, k, v, kk, a, state, headSize, batch, out } = op;
  if (headSize > LARGEST_HEAD) {
    const why = `its heads are ${headSize} wide, more than ${LARGEST_HEAD}`;
    fail('OP_UNSUPPORTED', { device: to.target.api, op: 'wkv7', why });
  }
  const split = hasWholeWarps(op) ? SPLIT : 1;
  const vectors = mixed && [
    mixed.removalFactors,
    mixed.draws,
    mixed.ownFactors,
    mixed.normFactors,
    mixed.normTerms,
  ];
  to.launch({
    file: 'wkv7.hip',
    kernel: 'wkv7_rows',
    defines: { HEAD_SIZE: headSize, SPLIT: split, MIXED: mixed ? 1 : 0 },
    grid: [out.width / headSize, to.graph.shape.slots],
    block: headSize * split,
    args: [
      to.count(out),
      batch.slots,
      batch.positions,
      r,
      w,
      mixed?.key ?? k,
      v,
      a,
      state,
      mixed?.out ?? out,
      int(out.width),
      ...(mixed && vectors
        ? [
            ...vectors.map((vector) => to.weight([vector], FLOAT_LAYOUT)),
            mixed.gate,
            float(mixed.lengthEpsilon),
            float(mixed.normEpsilon),
          ]
        : [kk]),
    ],
  });
}
