import type { OpGraph } from '../../ops/graph.ts';
import { type Op, resultsOf } from '../../ops/op.ts';
import type { Tensor } from '../../ops/value.ts';

/**
 * What a graph's f32 results are called: those with a weight of their own as the weight, all others as their operator, from
 * the second of a name on with a number (`attn_q`, `attention`, `add`, `add 2`).
 */
export function valueNames(graph: OpGraph): Map<string, Tensor> {
  const names = new Map<string, Tensor>();
  for (const op of graph.ops) {
    for (const tensor of resultsOf(op)) {
      if (tensor.type !== 'f32') continue;
      const base = baseName(op);
      let name = base;
      for (let number = 2; names.has(name); number++) name = `${base} ${number}`;
      names.set(name, tensor);
    }
  }
  return names;
}

function baseName(op: Op): string {
  if (!('weight' in op)) return op.kind;
  return op.weight.name.replace(/\.weight$/, '');
}
