import type { OpGraph } from '../../ops/graph.ts';
import { type Op, resultsOf } from '../../ops/op.ts';
import type { Tensor } from '../../ops/value.ts';

/**
 * Names of a graph's f32 results: that of the weight for those computed with one of their own, otherwise that of the
 * operator, numbered from the second of the same name (`attn_q`, `attention`, `add`, `add 2`).
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
  if (!('weight' in op) || !op.weight) return op.kind;
  return op.weight.name.replace(/\.weight$/, '');
}
