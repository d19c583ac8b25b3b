import { invariant } from '../../../../base/errors.ts';
import { formatOf } from '../../../../formats/index.ts';
import { weightLayoutOf } from '../../lowering/weight-layout-of.ts';
import type { PlacedWeight } from '../../protocol/call-table.ts';
import type { WeightLayout } from '../../weight-layouts.ts';

/** The layout in which a matrix was packed. */
export function layoutOf({ ggmlType }: PlacedWeight): WeightLayout {
  const format = formatOf(ggmlType);
  invariant(format, 'a matrix has a known format');
  return weightLayoutOf(format).layout;
}
