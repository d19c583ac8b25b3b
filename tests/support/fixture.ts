import { join } from 'node:path';
import { PROJECT_ROOT } from './project.ts';

/** Path of a committed fixture. */
export function fixture(path: string): string {
  return join(PROJECT_ROOT, 'tests/fixtures', path);
}

/** What `bench/launch-lists.ts` writes. */
export const LAUNCH_SUMMARY = fixture('launch-lists.txt');
