import { join } from 'node:path';
import { PROJECT_ROOT } from './project.ts';

/** The path of a committed fixture. */
export function fixture(path: string): string {
  return join(PROJECT_ROOT, 'tests/fixtures', path);
}

/** The output of `bench/launch-lists.ts`. */
export const LAUNCH_SUMMARY = fixture('launch-lists.txt');
