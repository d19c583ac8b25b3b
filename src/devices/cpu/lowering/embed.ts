import type { EmbedOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerEmbed(op: EmbedOp, to: Lowering): void {
  const { rows: tableRows, columns, format } = op.table;
  const ids = to.tensor(op.ids);
  const table = to.weight(op.table, 'lookup');
  const out = to.tensor(op.out);
  to.emit({
    table: {
      kind: 'embed',
      at: { ids: ids.id, table: table.id, out: out.id },
      ggmlType: format.ggmlType,
      columns,
      tableRows,
    },
    axis: op.out.axis,
    locality: 'row',
    local: [ids],
    reads: [table],
    writes: [out],
  });
}
