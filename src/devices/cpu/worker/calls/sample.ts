import { SAMPLING_ROW_WORDS, SamplingScratch, sampleRow } from '../../../../ops/index.ts';
import type { SampleCall } from '../../protocol/call-table.ts';
import type { BankInstance } from '../bank-instance.ts';
import type { KernelCall, Chunk } from '../task.ts';

/** Views of everything that one output row is sampled from. */
interface OutputRow {
  readonly logits: Float32Array;
  readonly row: Int32Array;
  readonly report: Float32Array;
}

/** Samples in TypeScript: a row is a few passes over the logits, and the draw is the same on every device. */
export function sampleCall(of: SampleCall, bank: BankInstance, outputs: number): KernelCall {
  const { at, vocabulary, historyRows, historyWidth, maskWidth, reportWidth } = of;
  const outputRows = bank.words(at.outputRows, outputs);
  const positions = bank.words(at.positions, of.rows);
  const slots = bank.words(at.slots, of.rows);
  const tokens = bank.words(at.tokens, outputs);
  const histories = Array.from({ length: historyRows }, (_, slot) =>
    bank.words(at.history + 4 * slot * historyWidth, historyWidth),
  );
  const masks = Array.from({ length: historyRows }, (_, slot) =>
    bank.words(at.masks + 4 * slot * maskWidth, maskWidth),
  );
  const rows: OutputRow[] = Array.from({ length: outputs }, (_, output) => ({
    logits: bank.floats(at.logits + 4 * output * vocabulary, vocabulary),
    row: bank.words(at.parameters + 4 * output * SAMPLING_ROW_WORDS, SAMPLING_ROW_WORDS),
    report: bank.floats(at.report + 4 * output * reportWidth, reportWidth),
  }));
  let scratch: SamplingScratch | undefined;
  return {
    columns: 1,
    run({ firstRow, endRow }: Chunk) {
      scratch ??= new SamplingScratch(vocabulary);
      for (let output = firstRow; output < endRow; output++) {
        const row = outputRows[output] as number;
        const slot = slots[row] ?? -1;
        const history = histories[slot];
        const mask = masks[slot];
        const views = rows[output];
        if (!history || !mask || !views) continue;
        tokens[output] = sampleRow({ ...views, history, mask, position: positions[row] as number, scratch });
      }
    },
  };
}
