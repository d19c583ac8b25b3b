import type { OpGraph } from '../../ops/graph.ts';
import { type Op, resultsOf } from '../../ops/op.ts';
import type { Tensor } from '../../ops/value.ts';

/**
 * Names of a graph's f32 results: that of the weight for those computed with one of their own, otherwise that of the
 * operator, numbered from the second of the same name (`attn_q`, `attention`, `add`, `add 2`); and `expert_ids`, the
 * choices of a router.
 */
export function valueNames(graph: OpGraph): Map<string, Tensor> {
  const names = new Map<string, Tensor>();
  for (const op of graph.ops) {
    for (const tensor of resultsOf(op)) {
      const isChoice = op.kind === 'routeExperts' && tensor === op.expertIds;
      if (tensor.type !== 'f32' && !isChoice) continue;
      const base = isChoice ? 'expert_ids' : baseName(op);
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
