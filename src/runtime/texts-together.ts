import { invariant } from '../base/errors.ts';
import type { AdapterChoice } from '../model/lora/adapter-set.ts';
import { areValidLogits } from '../ops/index.ts';
import type { SequenceRows } from '../plan/sequence-rows.ts';
import { explainFault } from './first-fault.ts';
import type { PositionLogits } from './forced-logits.ts';
import { type ForwardTarget, forward } from './forward-rows.ts';

/** A text whose rows are wanted: the results of a model that embeds or ranks. */
export interface WantedText {
  readonly ids: readonly number[];
  /** The first position whose row is wanted. */
  readonly from: number;
  /** Asked when the text is about to be computed. */
  readonly adapters: () => readonly AdapterChoice[];
  /** Whether nobody waits for it any more: it has all rows, has failed or was aborted. */
  readonly isOver: boolean;
  /** Takes the rows of the positions, in order, and from the first one again if the device was lost meanwhile. */
  take(row: PositionLogits): void;
  /** Called when all rows were taken. */
  done(): void;
  /** Called instead of `done`. */
  fail(error: unknown): void;
}

/** A text in its slot, computed up to a position. */
interface TextInSlot {
  readonly text: WantedText;
  readonly slot: number;
  readonly adapters: readonly AdapterChoice[];
  at: number;
}

/** Takes those texts from the queue that are computed together next: as many as there are slots, and room in the cache. */
export function takeTexts(
  queue: WantedText[],
  { plan, state }: Pick<ForwardTarget, 'plan' | 'state'>,
): WantedText[] {
  const taken: WantedText[] = [];
  while (taken.length < plan.shape.slots) {
    const [next] = queue;
    if (next && !next.isOver && !state.admit(taken.length, next.ids.length)) break;
    if (!next) break;
    queue.shift();
    if (!next.isOver) taken.push(next);
  }
  invariant(taken.length > 0 || queue.length === 0, 'a text within the context has room in the state');
  return taken;
}

/**
 * Computes texts together, each in an empty slot of its own, with as many rows in a step as the plan has: those texts first of
 * which the least is left, so that short ones do not wait for a long one. One that is over is left out. Rejects as the device.
 */
export async function computeTexts(
  on: ForwardTarget,
  texts: readonly WantedText[],
  { isWhole, onStep }: { readonly isWhole: boolean; readonly onStep: () => void },
): Promise<void> {
  const { state, stream } = on;
  const { shape, vocabulary } = on.plan;
  let running: TextInSlot[] = texts.map((text, slot) => ({ text, slot, adapters: text.adapters(), at: 0 }));
  for (const { slot, text } of running) {
    invariant(state.admit(slot, text.ids.length), 'texts were taken for which there is room');
  }
  const all = texts.reduce((sum, { ids }) => sum + ids.length, 0);
  const logits = new Float32Array(Math.min(shape.rows, all) * vocabulary);
  for (;;) {
    running = running.filter(({ text }) => !text.isOver);
    if (running.length === 0) return;
    const step = nextStep(running, shape.rows, isWhole);
    onStep();
    await forward(
      on,
      step.map(({ rows }) => rows),
    );
    const count = step.reduce((sum, { rows }) => sum + rows.outputs, 0);
    if (count === 0) await stream.synchronize();
    else
      await stream.download(
        on.plan.result('logits'),
        new Uint8Array(logits.buffer, 0, count * vocabulary * 4),
      );
    let output = 0;
    for (const { of, rows } of step) {
      const found = logits.subarray(output * vocabulary, (output + rows.outputs) * vocabulary);
      await handOver(on, of, { rows, found });
      output += rows.outputs;
    }
  }
}

interface StepRows {
  readonly of: TextInSlot;
  readonly rows: SequenceRows;
}

/** The rows of the next step; at least those of one text, which all are if a text's rows see those behind them (`isWhole`). */
function nextStep(running: readonly TextInSlot[], most: number, isWhole: boolean): StepRows[] {
  const rest = ({ text, at }: TextInSlot): number => text.ids.length - at;
  const step: StepRows[] = [];
  let left = most;
  for (const of of running.toSorted((a, b) => rest(a) - rest(b))) {
    const { text, slot, adapters, at: first } = of;
    const end = Math.min(text.ids.length, first + left);
    if (end === first || (isWhole && end < text.ids.length)) break;
    const outputs = Math.max(0, end - Math.max(first, text.from));
    const ids = text.ids.slice(first, end);
    step.push({ of, rows: { ids, next: text.ids[end], slot, first, outputs, adapters } });
    left -= ids.length;
  }
  return step;
}

/** Gives a text its rows of a step; one whose rows are not finite fails alone. */
async function handOver(
  on: ForwardTarget,
  of: TextInSlot,
  { rows: { ids, first, outputs, adapters, slot }, found }: { rows: SequenceRows; found: Float32Array },
): Promise<void> {
  const { text } = of;
  const width = found.length / outputs;
  of.at = first + ids.length;
  for (let i = 0; i < outputs && !text.isOver; i++) {
    const logits = found.subarray(i * width, (i + 1) * width);
    const position = of.at - outputs + i;
    if (areValidLogits(logits)) text.take({ position, logits });
    else text.fail(await explainFault(on, { slot, first, adapters, ids: text.ids.slice(0, position + 1) }));
  }
  if (of.at === text.ids.length && !text.isOver) text.done();
}
