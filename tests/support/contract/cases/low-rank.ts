import { BF16, F16, F32, type TensorFormat } from '../../../../src/formats/index.ts';
import { add, lerp, matmul, scale, type Tensor, unary, type Weight } from '../../../../src/ops/index.ts';
import { normal } from '../case-data.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { fullBatch, plainBatch } from '../ragged-batch.ts';

/** Weights that leave activations small. */
function tamed(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = normal(random) / 32;
}

/** Products by weights of low rank, short and long ones, each with what follows it: what devices compute in one launch, and then in another. */
export function lowRankCase(format: TensorFormat, rows: number): OpCase {
  return {
    op: 'layer',
    name: `products of low rank, ${format.name}, ${rows} rows`,
    batch: plainBatch(rows),
    record: (g) => {
      const [width, long] = [192, 1160];
      const x = g.input('x', { axis: 'rows', width });
      const y = g.input('y', { axis: 'rows', width: long });
      const product = (of: Tensor, name: string, outputs: number, bias?: Weight) =>
        matmul(g, of, g.weight(name, format, outputs, of.width), bias);
      const inner = unary(g, 'tanh', product(x, 'w1', 40, g.weight('bias', F32, 1, 40)));
      const rate = product(y, 'a1', 24);
      const slowness = unary(
        g,
        'sigmoid',
        add(g, product(inner, 'w2', width), g.weight('w0', F32, 1, width)),
      );
      const pull = unary(g, 'sigmoid', product(rate, 'a2', width));
      return { inner, rate, slowness, pulled: lerp(g, x, scale(g, x, 0.5), { t: pull }) };
    },
    fill: Object.fromEntries(['w1', 'a1', 'w2', 'a2'].map((name) => [name, tamed])),
  };
}

/**
 * A chain of low rank beside large products of another format, one of which its end reads: devices may launch the others with either link. Outputs
 * are enough for all multiprocessors, so that teams of threads take lines to their measure.
 */
export function chainCase(rows: number): OpCase {
  return {
    op: 'layer',
    name: `a chain of low rank beside products, ${rows} rows`,
    batch: fullBatch(rows),
    record: (g) => {
      const [width, outputs, rank] = [704, 1160, 40];
      const x = g.input('x', { axis: 'rows', width });
      const first = g.input('first', { axis: 'rows', width: outputs });
      const r = matmul(g, x, g.weight('r', F16, outputs, width));
      const value = matmul(g, x, g.weight('v', F16, outputs, width));
      const inner = unary(g, 'tanh', matmul(g, x, g.weight('w1', F32, rank, width)));
      const pull = unary(
        g,
        'sigmoid',
        add(g, matmul(g, inner, g.weight('w2', F32, outputs, rank)), g.weight('w0', F32, 1, outputs)),
      );
      const pulled = lerp(g, value, first, { t: pull });
      return { inner, pulled, scaled: scale(g, r, 0.5) };
    },
    fill: Object.fromEntries(['r', 'v', 'w1', 'w2'].map((name) => [name, tamed])),
  };
}

export const LOW_RANK_CASES: readonly OpCase[] = [
  ...[F32, F16, BF16].flatMap((format) => [37, 128].map((rows) => lowRankCase(format, rows))),
  ...[1, 2].map(chainCase),
];
