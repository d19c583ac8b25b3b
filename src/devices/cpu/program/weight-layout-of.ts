import { fail } from '../../../base/errors.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import { WEIGHT_LAYOUTS, type WeightLayout } from '../weight-layouts.ts';

/** How the kernels keep a format's matrices. Throws `OP_UNSUPPORTED` for a format they do not know. */
export function weightLayoutOf({ name }: TensorFormat): WeightLayout {
  const layout = WEIGHT_LAYOUTS[name];
  if (!layout) fail('OP_UNSUPPORTED', { device: 'cpu', op: 'matmul', why: `it has no kernel for ${name}` });
  return layout;
}
