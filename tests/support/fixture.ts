import { join } from 'node:path';
import { PROJECT_ROOT } from './project.ts';

/** Path of a committed fixture. */
export function fixture(path: string): string {
  return join(PROJECT_ROOT, 'tests/fixtures', path);
}
