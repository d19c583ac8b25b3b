import type { SampleOp } from '../../../ops/index.ts';
import { FUNCTIONS } from '../kernels/library/functions.ts';
import { loopFor } from '../kernels/library/loop.ts';
import { WIDE } from '../kernels/library/wide.ts';
import { sampleTexts } from '../kernels/sample.ts';
import { SAMPLE_SELECT } from '../kernels/sample-select.ts';
import { read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';

/** One thread for each digit's sums. */
const THREADS = 256;

export function lowerSample(op: SampleOp, to: Lowering): void {
  const { logits, parameters, history, masks, batch, tokens, report } = op;
  const outputs = to.capacity(tokens);
  to.launch({
    name: 'sample',
    texts: [FUNCTIONS, WIDE, SAMPLE_SELECT, ...sampleTexts(loopFor(to.target))],
    constants: {
      THREADS,
      COUNT: to.countOf(tokens),
      VOCABULARY: logits.width,
      PARAMETER_WORDS: parameters.width,
      POSITIONS: history.width,
      MASK_WORDS: masks.width,
      ALTERNATIVES: report.width / 2 - 1,
    },
    args: {
      counts: to.counts,
      output_rows: to.index(batch.outputRows),
      slots: to.index(batch.slots),
      positions: to.index(batch.positions),
      logits: read(logits),
      parameters: read(parameters, 'array<i32>'),
      history: read(history, 'array<i32>'),
      masks: read(masks, 'array<u32>'),
      copies: write(to.temporary(4 * outputs * logits.width)),
      tokens: write(tokens, 'array<i32>'),
      report: write(report, 'array<u32>'),
    },
    grid: [outputs],
  });
}
