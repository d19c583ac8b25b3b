import type { GraphUses } from '../../../../device/index.ts';
import type { AttentionOp } from '../../../../ops/index.ts';
import { attentionShares, headBlocks, launchAttention, mergeLaunch, partialBytes } from '../attention.ts';
import { fitsTiles, launchTiles } from '../attention-tiles.ts';
import type { Operand } from '../launch-plan.ts';
import { int, NULL } from '../launch-template.ts';
import type { Lowering } from '../lowering.ts';
import { formFor } from './form-for.ts';

/** Attention to be launched behind what appends to its cache. */
export interface Mixing {
  /** Counters that the launch before has to zero, and how many. */
  readonly zeroed: readonly [Operand, Operand];
  launch(): void;
}

/** Attention over queries that stand as they are, its result quantized where an integer product reads it next. */
export function planMixing(attention: AttentionOp, uses: GraphUses, to: Lowering): Mixing {
  const wanted = attention.valueSize % 32 === 0 ? formFor(attention.out, uses, to) : 'floats';
  const tiled = wanted === 'halves' && fitsTiles(attention, to);
  const shares = tiled ? 1 : attentionShares(attention, to);
  const counters = to.capacity(attention.out) * headBlocks(attention);
  const arrivals = shares > 1 ? to.temporary(4 * counters) : NULL;
  return {
    zeroed: [arrivals, int(shares > 1 ? counters : 0)],
    launch: () => {
      const out = wanted === 'floats' ? attention.out : to.activations.provide(attention.out, wanted);
      if (tiled) launchTiles(attention, to, out);
      else {
        launchAttention(attention, to, {
          shares,
          merge: shares > 1 ? mergeLaunch.lastBlock : mergeLaunch.none,
          out,
          form: wanted,
          partials: shares > 1 ? to.temporary(partialBytes(attention, to, shares)) : NULL,
          arrivals,
        });
      }
    },
  };
}
