import {
  MAXIMA_BLOCK,
  SAMPLING_ROW_WORDS,
  type SampleOp,
  SamplingScratch,
  sampleRow,
} from '../../../../ops/index.ts';
import { KERNEL_SCRATCH_BYTES } from '../../protocol/reserved.ts';
import type { Placed, PlacedState } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { CallPlace, Chunk, KernelCall } from '../task.ts';
import { rowWords } from './rows.ts';

/** Views of all data from which one output row is sampled. */
interface OutputRow {
  readonly logits: Float32Array;
  readonly row: Int32Array;
  readonly report: Float32Array;
}

/**
 * Samples in TypeScript, so that the draw is the same on every device; a kernel reads the logits once and says which few of them count.
 */
export function sampleCall(
  of: Placed<SampleOp>,
  bank: BankInstance,
  outputs: number,
  { capacity }: CallPlace,
): KernelCall {
  const { logits, parameters, history, masks, report, batch } = of;
  const outputRows = bank.words(batch.outputRows.at, outputs);
  const { positions, slots } = rowWords(batch, bank, capacity.rows);
  const tokens = bank.words(of.tokens.at, outputs);
  const bySlot = ({ at, rows, width }: PlacedState) =>
    Array.from({ length: rows }, (_, slot) => bank.words(at + 4 * slot * width, width));
  const [histories, maskRows] = [bySlot(history), bySlot(masks)];
  const rows: OutputRow[] = Array.from({ length: outputs }, (_, output) => ({
    logits: bank.floats(logits.at + 4 * output * logits.width, logits.width),
    row: bank.words(parameters.at + 4 * output * SAMPLING_ROW_WORDS, SAMPLING_ROW_WORDS),
    report: bank.floats(report.at + 4 * output * report.width, report.width),
  }));
  const blocks = Math.ceil(logits.width / MAXIMA_BLOCK);
  const values = 4 * blocks <= KERNEL_SCRATCH_BYTES ? bank.floats(bank.scratch, blocks) : undefined;
  const maximaOf = (output: number) => {
    if (!values) return undefined;
    const at = logits.at + 4 * output * logits.width;
    const special = bank.kernels.blockMaxima(at, logits.width, MAXIMA_BLOCK, bank.scratch);
    return { values, hasSpecial: special !== 0 };
  };
  let scratch: SamplingScratch | undefined;
  return {
    columns: 1,
    run({ firstRow, endRow }: Chunk) {
      scratch ??= new SamplingScratch(logits.width);
      for (let output = firstRow; output < endRow; output++) {
        const row = outputRows[output] as number;
        const slot = slots[row] ?? -1;
        const history = histories[slot];
        const mask = maskRows[slot];
        const views = rows[output];
        if (!history || !mask || !views) continue;
        const position = positions[row] as number;
        const maxima = maximaOf(output);
        tokens[output] = sampleRow({ ...views, history, mask, position, scratch, maxima });
      }
    },
  };
}
