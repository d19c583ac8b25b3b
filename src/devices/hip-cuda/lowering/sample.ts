import type { SampleOp } from '../../../ops/index.ts';
import { int } from './launch-template.ts';
import type { Lowering } from './lowering.ts';

export function lowerSample(op: SampleOp, to: Lowering): void {
  const { logits, parameters, history, masks, batch, tokens, report } = op;
  const outputs = to.capacity(tokens);
  to.launch({
    file: 'sample.hip',
    kernel: 'sample_rows',
    grid: [outputs],
    block: 1024,
    args: [
      to.count(tokens),
      logits,
      parameters,
      int(parameters.width),
      history,
      int(history.width),
      masks,
      int(masks.width),
      batch.outputRows,
      batch.slots,
      batch.positions,
      to.temporary(4 * outputs * logits.width),
      tokens,
      report,
      int(logits.width),
      int(report.width / 2 - 1),
    ],
  });
}
