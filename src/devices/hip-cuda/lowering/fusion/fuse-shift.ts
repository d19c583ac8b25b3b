import type { Fusion, GraphUses } from '../../../../device/index.ts';
import type { LayerNormOp, LerpOp, Op, TokenShiftOp, Weight } from '../../../../ops/index.ts';
import type { Operand } from '../launch-plan.ts';
import { float, int, NULL } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { FLOAT_LAYOUT } from '../weight-layout.ts';

const THREADS = 256;
/** With more rows, norms are computed once, not by every block. */
const ROWS_NORMED_INSIDE = 4;

/** A mixture of the row and the one before, by a row of a weight. */
type Mixture = LerpOp & { readonly t: Weight };

/** All mixtures of the rows and those before them, with the norm before them where the rows are few. */
export function fuseShift(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'tokenShift') return undefined;
  const mixtures = uses.readers(op.out).filter((reader): reader is Mixture => isMixture(reader, op));
  if (mixtures.length === 0 || mixtures.length !== uses.readers(op.out).length) return undefined;
  const last = Math.max(...mixtures.map((mixture) => uses.place(mixture)));
  const early = mixtures.some(({ out }) => uses.readers(out).some((reader) => uses.place(reader) < last));
  if (early) return undefined;
  const norm = normOf(op, { uses, to, readers: mixtures.length + 1 });
  return {
    ops: [op, ...mixtures, ...(norm ? [norm] : [])],
    emit: () => launchMixtures(op, { mixtures, norm }, to),
  };
}

function isMixture(reader: Op, { x, out }: TokenShiftOp): boolean {
  return reader.kind === 'lerp' && reader.a === x && reader.b === out && reader.t.kind === 'weight';
}

/** The norm, where nobody else reads its result. */
function normOf(
  { x }: TokenShiftOp,
  { uses, to, readers }: { uses: GraphUses; to: Lowering; readers: number },
): LayerNormOp | undefined {
  const norm = uses.producer(x);
  const alone = norm?.kind === 'layerNorm' && uses.readers(x).length === readers;
  return alone && norm.bias && to.capacity(x) <= ROWS_NORMED_INSIDE ? norm : undefined;
}

function launchMixtures(
  { x, last, batch }: TokenShiftOp,
  { mixtures, norm }: { mixtures: readonly Mixture[]; norm: LayerNormOp | undefined },
  to: Lowering,
): void {
  const vector = (weight: Weight | undefined): Operand => (weight ? to.weight([weight], FLOAT_LAYOUT) : NULL);
  const lerps = mixtures.map(
    ({ row }, m) => `y${m}[at] = mix(value, before, t${m}[${row} * i64(width) + i]);`,
  );
  to.launch({
    file: 'shift-lerps.hip',
    kernel: 'shift_lerps',
    defines: {
      NORMED: norm ? 1 : 0,
      PARAMETERS: mixtures.map((_, m) => `, const f32* t${m}, f32* y${m}`).join(''),
      LERPS: lerps.join(' '),
    },
    grid: [Math.ceil(x.width / THREADS)],
    block: THREADS,
    args: [
      to.count(x),
      batch.slots,
      batch.positions,
      norm ? norm.x : x,
      vector(norm?.weight),
      vector(norm?.bias),
      float(norm?.epsilon ?? 0),
      last,
      int(x.width),
      ...mixtures.flatMap(({ t, out }) => [vector(t), out]),
    ],
  });
}
