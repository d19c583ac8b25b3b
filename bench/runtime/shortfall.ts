import type { Mechanism } from './mechanisms.ts';
import type { StepFigures } from './step-figures.ts';

/** The gain of a mechanism, and where the time of steps went with and without it. */
export interface Compared {
  readonly mechanism: Mechanism;
  /** With it relative to without it: tokens per second of one sequence, and of all together. */
  readonly latency: number;
  readonly throughput: number;
  readonly on: { readonly alone: StepFigures; readonly all: StepFigures };
  readonly off: { readonly alone: StepFigures; readonly all: StepFigures };
}

/** Why a mechanism gained less than expected, based on the measurements; undefined if it did not. */
export function shortfall({ mechanism, latency, throughput, on, off }: Compared): string | undefined {
  const least = 1 + mechanism.expected[0] / 100;
  if (Math.max(latency, throughput) >= least) return undefined;
  if (mechanism.gainsBy === 'fuller steps') {
    const { tokensPerStep, stepMs } = on.all;
    const slower = stepMs / off.all.stepMs;
    return `${tokensPerStep.toFixed(1)} tokens a step instead of ${off.all.tokensPerStep.toFixed(1)}, each step ${slower.toFixed(2)} times as long`;
  }
  const why = (['alone', 'all'] as const).map((load) => gapText(load, on[load], off[load], least));
  return why.join('; ');
}

/** The possible gain: at most the waiting, of the device and within a step, can be saved. */
function gapText(load: 'alone' | 'all', on: StepFigures, off: StepFigures, least: number): string {
  const most = off.stepMs / (1 - off.idleFraction) / on.stepMs;
  const host = `the host is busy ${ms(on.hostMs)} a step`;
  const steps = `steps of ${ms(on.stepMs)}, ${ms(off.stepMs)} without it`;
  const waits = `the device waits ${percent(on.idleFraction)}, ${percent(off.idleFraction)} without it`;
  const so = most < least ? `: ${percent(Math.max(0, most - 1))} is all that there is to gain` : '';
  return `${load === 'alone' ? 'one sequence' : 'all'}: ${host}, ${steps}, ${waits}${so}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function ms(value: number): string {
  return `${value.toPrecision(3)} ms`;
}
