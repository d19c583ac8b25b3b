import { type PhaseSummary, StepProfile } from '../runtime/jobs/step-profile.ts';
import type { Output } from './output.ts';
import { tableText } from './table.ts';
import { writeText } from './text-files.ts';

/** The value of `--profile`: a table, or with a file also a trace. */
export interface ProfileFlags {
  readonly profile?: string | true | undefined;
}

/** A profile, if requested. */
export function profileOf({ profile }: ProfileFlags): StepProfile | undefined {
  return profile === undefined ? undefined : new StepProfile({ withTrace: profile !== true });
}

/** Prints to stderr where the time of the steps went, and writes the trace. Rejects with `WRITE_FAILED`. */
export async function reportProfile(
  profile: StepProfile | undefined,
  { profile: path }: ProfileFlags,
  output: Output,
): Promise<void> {
  if (!profile) return;
  output.warn(profileText(profile));
  if (typeof path === 'string') await writeText(path, JSON.stringify(profile.trace));
}

function profileText(profile: StepProfile): string {
  const table = tableText(
    [
      ['phase', 'left'],
      ['steps', 'right'],
      ['mean ms', 'right'],
      ['median', 'right'],
      ['p95', 'right'],
      ['max', 'right'],
    ],
    profile.summary().map(cellsOf),
  );
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const { idleFraction, hitRate } = profile;
  const recorded =
    hitRate === undefined ? '' : `\n${percent(hitRate)} of the steps were recorded when they were wanted`;
  return `${table}\nthe device waited for the host ${percent(idleFraction)} of the time${recorded}`;
}

function cellsOf({ phase, count, mean, median, p95, max }: PhaseSummary): string[] {
  return [phase, String(count), ...[mean, median, p95, max].map((ms) => ms.toFixed(3))];
}
