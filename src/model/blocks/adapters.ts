import { combineExperts } from '../../ops/experts/combine-experts.ts';
import { matmulExperts } from '../../ops/experts/matmul-experts.ts';
import type { Tensor } from '../../ops/value.ts';
import type { PartScope } from '../part-scope.ts';

/**
 * What a row's adapters add to its product with `<name>.weight`; undefined if no adapter changes it. Rows select
 * adapters like experts, through the inputs `adapters` and `adapter_scales`.
 */
export function recordAdapters(
  scope: PartScope,
  x: Tensor,
  { name, rows }: { name: string; rows: number },
): Tensor | undefined {
  const { g } = scope;
  const { adapters } = scope.of;
  const [down, up] = [`${name}.weight.lora_a`, `${name}.weight.lora_b`];
  if (!adapters || x.axis !== 'rows' || !scope.has(down)) return undefined;
  const { count, perRow } = adapters;
  const rank = scope.rowsOf(down, x.width) / count;
  const expertIds = g.input('adapters', { axis: 'rows', width: perRow, type: 'i32' });
  const scales = g.input('adapter_scales', { axis: 'rows', width: perRow });
  const low = matmulExperts(g, x, {
    expertIds,
    weight: scope.weight(down, count * rank, x.width),
    outputs: rank,
  });
  const high = matmulExperts(g, low, {
    expertIds,
    weight: scope.weight(up, count * rows, rank),
    outputs: rows,
  });
  return combineExperts(g, high, scales);
}
