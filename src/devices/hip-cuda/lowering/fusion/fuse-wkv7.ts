import type { Fusion, GraphUses } from '../../../../device/index.ts';
import type { Op, Tensor, Weight, Wkv7Op } from '../../../../ops/index.ts';
import type { Lowering } from '../lowering.ts';
import { hasWholeWarps, launchWkv7, type WkvSurroundings } from '../wkv7.ts';

/**
 * RWKV-7's recurrence with what makes its keys and what becomes of its result: the removal key `l2Norm(key * factors)`, the key
 * `lerp(key, key * a)`, then `(groupNorm + wkvBonus) * gate`.
 */
export function fuseWkv7(op: Op, uses: GraphUses, to: Lowering): Fusion | undefined {
  if (op.kind !== 'wkv7' || !hasWholeWarps(op)) return undefined;
  const before = matchKeys(op, uses);
  const after = matchResult(op, uses);
  if (!before || !after) return undefined;
  const surroundings = { ...before.of, ...after.of };
  return {
    ops: [op, ...before.ops, ...after.ops],
    emit: () => launchWkv7(op, to, surroundings),
  };
}

interface Found<K extends keyof WkvSurroundings> {
  readonly ops: readonly Op[];
  readonly of: Pick<WkvSurroundings, K>;
}

function matchKeys(
  { k, kk, a, headSize }: Wkv7Op,
  uses: GraphUses,
): Found<'key' | 'removalFactors' | 'draws' | 'lengthEpsilon'> | undefined {
  const length = uses.producer(kk);
  if (length?.kind !== 'l2Norm' || length.size !== headSize) return undefined;
  const scaled = uses.producer(length.x);
  const drawn = uses.producer(k);
  if (scaled?.kind !== 'mul' || !isVector(scaled.b) || drawn?.kind !== 'lerp' || !isVector(drawn.t)) {
    return undefined;
  }
  const key = scaled.a;
  const target = uses.producer(drawn.b);
  if (drawn.a !== key || drawn.row !== 0 || target?.kind !== 'mul') return undefined;
  const towards = (target.a === key && target.b === a) || (target.a === a && target.b === key);
  const alone = [length.x, kk, drawn.b].every((tensor) => uses.readers(tensor).length === 1);
  // Beside the recurrence, the token's own part reads the key.
  if (!towards || !alone || uses.readers(k).length !== 2) return undefined;
  const of = { key, removalFactors: scaled.b, draws: drawn.t, lengthEpsilon: length.epsilon };
  return { ops: [length, scaled, drawn, target], of };
}

function matchResult(
  { r, k, v, out, headSize }: Wkv7Op,
  uses: GraphUses,
): Found<'ownFactors' | 'normFactors' | 'normTerms' | 'gate' | 'normEpsilon' | 'out'> | undefined {
  const norm = uses.onlyReader(out);
  if (norm?.kind !== 'groupNorm' || norm.size !== headSize) return undefined;
  const sum = uses.onlyReader(norm.out);
  if (sum?.kind !== 'add' || sum.b.kind !== 'tensor') return undefined;
  const bonus = uses.producer(sum.a === norm.out ? sum.b : sum.a);
  if (bonus?.kind !== 'wkvBonus' || uses.onlyReader(bonus.out) !== sum || bonus.headSize !== headSize) {
    return undefined;
  }
  if (bonus.r !== r || bonus.k !== k || bonus.v !== v) return undefined;
  const gated = uses.onlyReader(sum.out);
  if (gated?.kind !== 'mul' || gated.b.kind !== 'tensor' || gated.a === gated.b) return undefined;
  const of = {
    ownFactors: bonus.weight,
    normFactors: norm.weight,
    normTerms: norm.bias,
    normEpsilon: norm.epsilon,
    gate: gated.a === sum.out ? gated.b : gated.a,
    out: gated.out,
  };
  return { ops: [norm, sum, bonus, gated], of };
}

function isVector(value: Tensor | Weight): value is Weight {
  return value.kind === 'weight' && value.rows === 1 && value.columns > 1;
}
