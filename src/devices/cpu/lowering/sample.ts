import type { SampleOp } from '../../../ops/index.ts';
import type { Lowering } from './lowering.ts';

export function lowerSample(op: SampleOp, to: Lowering): void {
  const { batch } = op;
  const [logits, parameters] = [to.tensor(op.logits), to.tensor(op.parameters)];
  const [tokens, report] = [to.tensor(op.tokens), to.tensor(op.report)];
  const [history, masks] = [to.state(op.history), to.state(op.masks)];
  const outputRows = to.tensor(batch.outputRows);
  const [positions, slots] = [to.tensor(batch.positions), to.tensor(batch.slots)];
  to.emit({
    table: {
      kind: 'sample',
      at: {
        logits: logits.id,
        parameters: parameters.id,
        history: history.id,
        masks: masks.id,
        outputRows: outputRows.id,
        positions: positions.id,
        slots: slots.id,
        tokens: tokens.id,
        report: report.id,
      },
      columns: 1,
      vocabulary: op.logits.width,
      historyRows: op.history.rows,
      historyWidth: op.history.width,
      maskWidth: op.masks.width,
      reportWidth: op.report.width,
      rows: to.graph.shape.rows,
    },
    axis: 'outputs',
    locality: 'row',
    local: [logits, parameters, outputRows],
    reads: [history, masks, positions, slots],
    writes: [tokens, report],
  });
}
