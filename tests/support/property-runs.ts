/** Set to run properties the full number of times. */
export const ALL_RUNS = 'ROCMFORGE_TEST_ALL_RUNS';

/**
 * The number of runs of a slow property: a quarter of `all` in `npm test`, and all in `npm run test:full`.
 */
export function runsOf(all: number): number {
  return process.env[ALL_RUNS] === undefined ? Math.ceil(all / 4) : all;
}
