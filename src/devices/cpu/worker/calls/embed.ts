import { invariant } from '../../../../base/errors.ts';
import { formatOf } from '../../../../formats/index.ts';
import type { EmbedCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import { decoderOf } from '../decoder.ts';
import type { KernelCall, Chunk } from '../task.ts';

export function embedCall(of: EmbedCall, bank: BankInstance, capacity: number): KernelCall {
  const { at, columns, tableRows } = of;
  const format = formatOf(of.ggmlType);
  invariant(format, 'a table has a known format');
  const decode = decoderOf(format, bank);
  const blocks = columns / format.blockElements;
  const rowBytes = blocks * format.blockBytes;
  const ids = bank.words(at.ids, capacity);
  const out = bank.floats(at.out, capacity * columns);
  return {
    columns,
    run({ firstRow, endRow }: Chunk) {
      for (let row = firstRow; row < endRow; row++) {
        const id = ids[row] as number;
        const known = id >= 0 && id < tableRows;
        if (known) decode(at.table + id * rowBytes, at.out + 4 * row * columns, blocks, bank.scratch);
        else out.fill(0, row * columns, (row + 1) * columns);
      }
    },
  };
}
