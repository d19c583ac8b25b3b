import { z } from 'zod';
import { invalid } from '../endpoint.ts';

/** Seconds per unit of a duration. */
const UNITS: Readonly<Record<string, number>> = {
  h: 3600,
  m: 60,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  µs: 1e-6,
  ns: 1e-9,
};

/** `keep_alive` of Ollama's requests. */
export const keepAliveField = z
  .union([z.number(), z.string().max(100)])
  .nullish()
  .describe(
    'How long the model stays loaded after the request: seconds, or a duration such as 5m; 0 unloads it, below 0: forever. Default: as the server was started.',
  );

/** Its seconds; undefined if there is none. Throws `REQUEST_INVALID` for what is no duration. */
export function keepSecondsOf(given: z.output<typeof keepAliveField>): number | undefined {
  if (given === null || given === undefined || given === '') return undefined;
  const seconds = typeof given === 'number' ? given : durationOf(given);
  return seconds < 0 ? Number.POSITIVE_INFINITY : seconds;
}

/** A duration as Go writes them: `1h30m`, `-1.5s`, or a plain number of seconds. */
function durationOf(text: string): number {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  const factor = sign === '-' ? -1 : 1;
  if (/^\d+(?:\.\d*)?$/.test(rest)) return factor * Number(rest);
  const parts = Array.from(rest.matchAll(/(\d+(?:\.\d*)?)(h|ms|m|s|us|µs|ns)/gy));
  const length = parts.reduce((sum, [all]) => sum + all.length, 0);
  if (length === 0 || length !== rest.length)
    invalid('keep_alive', 'expected seconds, or a duration such as 5m');
  return factor * parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0), 0);
}
