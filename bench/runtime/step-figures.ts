import type { StepPhase, StepProfile } from '../../src/runtime/jobs/step-profile.ts';

/** Where the time of steps went, on average. */
export interface StepFigures {
  /** Milliseconds per step that the host is busy with it. */
  readonly hostMs: number;
  /** Milliseconds that a step takes on the device. */
  readonly stepMs: number;
  /** The fraction of the time in which the device waited for the host. */
  readonly idleFraction: number;
  readonly tokensPerStep: number;
}

const HOST: readonly StepPhase[] = ['dispatch', 'load', 'submit', 'back'];

/** Milliseconds of each phase so far. */
function totals(profile: StepProfile): Map<StepPhase, number> {
  return new Map(profile.summary().map(({ phase, mean, count }) => [phase, mean * count]));
}

/** The figures of a profile while `work` runs, which returns the number of tokens. */
export async function figuresOf(profile: StepProfile, work: () => Promise<number>): Promise<StepFigures> {
  const [before, stepsBefore] = [totals(profile), stepsOf(profile)];
  const tokens = await work();
  // The device's times of a step arrive a turn later than its tokens.
  await new Promise((resolve) => setTimeout(resolve, 10));
  const [after, steps] = [totals(profile), stepsOf(profile) - stepsBefore];
  const took = (phase: StepPhase) => Math.max(0, (after.get(phase) ?? 0) - (before.get(phase) ?? 0));
  const [step, gap] = [took('step'), took('gap')];
  return {
    hostMs: HOST.reduce((sum, phase) => sum + took(phase), 0) / steps,
    stepMs: step / steps,
    idleFraction: step + gap === 0 ? 0 : gap / (step + gap),
    tokensPerStep: tokens / steps,
  };
}

function stepsOf(profile: StepProfile): number {
  return profile.summary().find(({ phase }) => phase === 'step')?.count ?? 0;
}
