import { invariant } from '../../../base/errors.ts';
import type { TensorFormat } from '../../../formats/index.ts';
import type { LayoutTable, WeightLayout } from '../weight-layouts.ts';

/** How a format's matrices are stored: in its kernels' layout, or as F32 for a format without kernels. */
export interface FormatLayout {
  readonly layout: WeightLayout;
  /** Whether the rows are decoded to f32 before they are packed. */
  readonly decodes: boolean;
}

export function weightLayoutOf({ name }: TensorFormat, layouts: LayoutTable): FormatLayout {
  const own = layouts[name];
  if (own) return { layout: own, decodes: false };
  const layout = layouts.F32;
  invariant(layout, 'F32 has a layout');
  return { layout, decodes: true };
}
