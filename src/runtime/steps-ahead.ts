import type { StepKind } from '../plan/steps/batch-plan.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';

/** Milliseconds of idleness before recording begins: a conversation's next request often follows at once. */
const REST_MS = 20;

/** A whole step that may be needed. */
export interface LikelyStep {
  readonly rows: number;
  readonly kind: StepKind;
}

/**
 * Steps that an idle engine may need next, the likeliest first: a prompt that fills a step, a token of one sequence,
 * tokens of more sequences or shorter prompts and, if the context exceeds a step, part of a prompt without its end.
 */
export function likelySteps(capacities: readonly number[], context: number, ends: StepKind): LikelyStep[] {
  const maxRows = capacities.at(-1) ?? 0;
  const steps: LikelyStep[] = [maxRows, ...capacities.slice(0, -1)].map((rows) => ({ rows, kind: ends }));
  if (context > maxRows && ends !== 'forward') steps.push({ rows: maxRows, kind: 'forward' });
  return steps;
}

/** Records likely steps while an engine is idle: recording a step on first use would delay every sequence in it. */
export class StepsAhead implements AsyncDisposable {
  readonly #plan: ExecutionPlan;
  readonly #likely: readonly LikelyStep[];
  #next = 0;
  #isIdle = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The step that is being recorded. */
  #recording: Promise<void> | undefined;

  constructor(plan: ExecutionPlan, likely: readonly LikelyStep[]) {
    this.#plan = plan;
    this.#likely = likely;
  }

  /**
   * The engine is idle: recording starts after a pause and once all weights are loaded, because it would slow down
   * loading.
   */
  begin(): void {
    this.#isIdle = true;
    const isDone = this.#next === this.#likely.length;
    if (isDone || this.#recording || this.#timer !== undefined || !this.#plan.isLoaded) return;
    this.#timer = setTimeout(this.#record, REST_MS);
  }

  /** The engine has work: recording stops. */
  stop(): void {
    this.#isIdle = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#recording;
  }

  /** Records one step per event-loop turn, so that new requests wait for at most one. */
  readonly #record = (): void => {
    this.#timer = undefined;
    const step = this.#likely[this.#next];
    if (!step) return;
    this.#next++;
    this.#recording = this.#plan.prepareAhead(step.rows, step.kind).then(() => {
      this.#recording = undefined;
      if (this.#isIdle) this.#timer = setTimeout(this.#record, 0);
    });
  };
}
