import type { Cost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import { maskWords, SAMPLING_ROW_WORDS } from './sampling/sampling-row.ts';
import type { BatchTensors, State, Tensor } from './value.ts';

/**
 * Samples a token for each output row: `tokens[o]` from `logits[o, :]` by the chain that `parameters[o, :]` describes
 * (`sampling/sampling-row.ts` defines the row's layout, `sampling/sample-row.ts` the semantics). `history` holds the
 * ids of the row's sequence up to its position, `masks` one bit per token of the vocabulary, by slot: if the row's
 * parameters enable it, only tokens whose bit is set can be sampled. `report[o, :]` is written if the row asks for it:
 * the log probabilities of the sampled token and of the most likely tokens, before any stage of the chain, as pairs of
 * (id as i32 bits, natural log), the sampled token first. A row without any token that could be sampled gets one of
 * `NO_TOKEN`.
 */
export interface SampleOp {
  readonly kind: 'sample';
  readonly logits: Tensor;
  readonly parameters: Tensor;
  readonly history: State;
  readonly masks: State;
  readonly batch: Pick<BatchTensors, 'outputRows' | 'slots' | 'positions'>;
  readonly tokens: Tensor;
  readonly report: Tensor;
}

/** Samples every output row: `tokens` i32 [outputs, 1], `report` f32 [outputs, 2 * (1 + alternatives)]. */
export function sample(
  g: Recorder<SampleOp>,
  of: {
    logits: Tensor;
    parameters: Tensor;
    history: State;
    masks: State;
    alternatives: number;
    /** The positions after which tokens are sampled. Default: the batch's. */
    positions?: Tensor;
  },
): { tokens: Tensor; report: Tensor } {
  const { logits, parameters, history, masks } = of;
  const fits = parameters.type === 'i32' && parameters.width === SAMPLING_ROW_WORDS;
  g.require(
    fits && parameters.axis === 'outputs',
    'sampling parameters are a row of words for each output row',
  );
  g.require(logits.axis === 'outputs', 'logits stand by output rows');
  const isMask = masks.type === 'i32' && masks.width === maskWords(logits.width);
  g.require(isMask && masks.rows === history.rows, 'masks hold a bit for each logit, a row for each slot');
  const tokens = g.temp('tokens', { axis: 'outputs', width: 1, type: 'i32' });
  const report = g.temp('report', { axis: 'outputs', width: 2 * (1 + of.alternatives) });
  const { outputRows, slots } = g.batch;
  const { positions = g.batch.positions } = of;
  const batch = { outputRows, slots, positions };
  g.push({ kind: 'sample', logits, parameters, history, masks, batch, tokens, report });
  return { tokens, report };
}

/** Reads the logits once. */
export function sampleCost(op: SampleOp, outputs: number): Cost {
  return { bytes: 4 * outputs * op.logits.width, flops: 4 * outputs * op.logits.width };
}
