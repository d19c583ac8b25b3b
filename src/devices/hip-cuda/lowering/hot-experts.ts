import { invariant } from '../../../base/errors.ts';
import { BUFFER_ALIGNMENT } from '../../../device/index.ts';
import type { HotExperts, MatmulExpertsOp, MatmulHeadsOp, State } from '../../../ops/index.ts';
import type { HipCudaWeight } from '../launching/kernel-set.ts';
import type { Operand } from './launch-plan.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { expertBytes, expertLayout } from './weight-layout.ts';

/** Copies of some experts' matrices, of so many bytes each, and the table that says which expert's each is. */
export interface HotCopies {
  readonly slots: State;
  readonly weight: HipCudaWeight;
  readonly bytes: number;
}

/** Kernels count the bytes of a matrix in these. */
function pagesOf(bytes: number): number {
  invariant(bytes % BUFFER_ALIGNMENT === 0, 'copies of experts are whole pages');
  return bytes / BUFFER_ALIGNMENT;
}

/** The arguments of kernels with HOT behind the weight. */
export function hotArgs(copies: HotCopies | undefined): Operand[] {
  return copies ? [copies.slots, copies.weight, int(pagesOf(copies.bytes))] : [];
}

/** Those of products, which read one table. */
export function hotOf(ops: readonly (MatmulExpertsOp | MatmulHeadsOp)[]): HotExperts[] {
  return ops.flatMap((op) => (op.kind === 'matmulExperts' && op.hot ? [op.hot] : []));
}

/** The copies of packed experts with so many rows of each weight, joined; undefined without any. */
export function packedCopies(
  hot: readonly HotExperts[],
  outputs: number,
  to: Lowering,
): HotCopies | undefined {
  const [first] = hot;
  if (!first) return undefined;
  const weights = hot.map(({ weight }) => weight);
  const bytes = expertBytes(weights, outputs);
  return { slots: first.slots, weight: to.weight(weights, expertLayout(outputs)), bytes };
}

/** Copies the chosen experts that have no copy into scratch, for a product of many rows to read from there. */
export function fetchExperts(
  weight: HipCudaWeight,
  { slots, bytes }: HotCopies,
  { tiles, tileCount }: { readonly tiles: Operand; readonly tileCount: number },
  to: Lowering,
): Operand {
  const fetched = to.temporary(weight.byteLength);
  to.launch({
    file: 'fetch-experts.hip',
    kernel: 'fetch_experts',
    grid: [Math.ceil(bytes / BLOCK_BYTES), tileCount],
    block: THREADS,
    args: [tiles, weight, slots, fetched, int(pagesOf(bytes))],
  });
  return fetched;
}

const THREADS = 256;
/** What a block copies: eight times sixteen bytes a thread. */
const BLOCK_BYTES = 8 * 16 * THREADS;
