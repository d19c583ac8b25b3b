import type { Mechanism } from './mechanisms.ts';
import type { StepFigures } from './step-figures.ts';

/** What a mechanism gained, and where the time of steps went with it and without it. */
export interface Compared {
  readonly mechanism: Mechanism;
  /** With it over without it: tokens a second of one sequence, and of all together. */
  readonly latency: number;
  readonly throughput: number;
  readonly on: { readonly alone: StepFigures; readonly all: StepFigures };
  readonly off: { readonly alone: StepFigures; readonly all: StepFigures };
}

/** Why a mechanism gained less than was expected of it, from what was measured; undefined where it did not. */
export function shortfall({ mechanism, latency, throughput, on, off }: Compared): string | undefined {
  const least = 1 + mechanism.expected[0] / 100;
  if (Math.max(latency, throughput) >= least) return undefined;
  if (mechanism.gainsBy === 'fuller steps') {
    const { tokensAStep, stepMs } = on.all;
    const slower = stepMs / off.all.stepMs;
    return `${tokensAStep.toFixed(1)} tokens a step instead of ${off.all.tokensAStep.toFixed(1)}, each step ${slower.toFixed(2)} times as long`;
  }
  const why = (['alone', 'all'] as const).map((load) => gapText(load, on[load], off[load], least));
  return why.join('; ');
}

/** What there was to gain: without a mechanism the device waits, and no more than this waiting can be saved. */
function gapText(load: 'alone' | 'all', on: StepFigures, off: StepFigures, least: number): string {
  const bound = 1 / (1 - off.gapShare);
  const host = `host ${ms(on.hostMs)} of a step of ${ms(on.stepMs)}`;
  const waits = `the device waits ${percent(off.gapShare)} without it, ${percent(on.gapShare)} with it`;
  const whose = load === 'alone' ? 'one sequence' : 'all';
  if (bound < least)
    return `${whose}: ${waits}, so ${percent(bound - 1)} is all that it could gain (${host})`;
  const longer = off.stepMs / on.stepMs;
  return `${whose}: ${waits}, and a step takes ${longer.toFixed(2)} times as long without it (${host})`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function ms(value: number): string {
  return `${value.toPrecision(3)} ms`;
}
