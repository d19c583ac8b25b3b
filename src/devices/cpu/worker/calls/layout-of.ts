import { invariant } from '../../../../base/errors.ts';
import { formatOf } from '../../../../formats/index.ts';
import { weightLayoutOf } from '../../lowering/weight-layout-of.ts';
import type { PlacedWeight } from '../../protocol/call-table.ts';
import type { WeightLayout } from '../../weight-layouts.ts';
import type { BankInstance } from '../bank-instance.ts';

/** The layout in which a matrix was packed, by the layouts of any bank. */
export function layoutOf({ ggmlType }: PlacedWeight, { layouts }: BankInstance): WeightLayout {
  const format = formatOf(ggmlType);
  invariant(format, 'a matrix has a known format');
  return weightLayoutOf(format, layouts).layout;
}
