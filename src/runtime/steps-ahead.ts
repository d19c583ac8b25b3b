import type { StepKind } from '../plan/steps/batch-plan.ts';
import type { ExecutionPlan } from '../plan/execution-plan.ts';

/** Milliseconds without anything to do before recording begins: a conversation's next request often follows at once. */
const REST_MS = 20;

/** What a whole step is recorded for. */
export interface LikelyStep {
  readonly rows: number;
  readonly kind: StepKind;
}

/**
 * The steps that may follow when nothing runs, the likeliest first: a prompt as long as a step takes, a token of one sequence,
 * tokens of more and more or shorter prompts, and where a context holds more than a step, a prompt's part without its end.
 */
export function likelySteps(capacities: readonly number[], context: number, ends: StepKind): LikelyStep[] {
  const most = capacities.at(-1) ?? 0;
  const steps: LikelyStep[] = [most, ...capacities.slice(0, -1)].map((rows) => ({ rows, kind: ends }));
  if (context > most && ends !== 'forward') steps.push({ rows: most, kind: 'forward' });
  return steps;
}

/**
 * Records the steps that are likely to come while an engine has nothing to do: what is recorded at its first use holds up
 * everyone whose steps are to follow.
 */
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

  /** There is nothing to do: begins in a moment, if all weights are there, whose loading it would hold up. */
  begin(): void {
    this.#isIdle = true;
    const isDone = this.#next === this.#likely.length;
    if (isDone || this.#recording || this.#timer !== undefined || !this.#plan.isLoaded) return;
    this.#timer = setTimeout(this.#record, REST_MS);
  }

  /** There is something to do. */
  stop(): void {
    this.#isIdle = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#recording;
  }

  /** Records a step and comes back for the next, so that whoever asks meanwhile waits for one at most. */
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
