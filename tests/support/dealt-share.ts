import { execFileSync } from 'node:child_process';
import { PROJECT_ROOT } from './project.ts';

/** Into how many shares what takes long is dealt. */
const SHARES = 4;

/** The number of a share, by the commit that is checked out: the same for the same code, and another one for most others. */
const share = Number.parseInt(commit().slice(0, 4), 16) % SHARES;

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: PROJECT_ROOT, encoding: 'utf8' });
  } catch {
    // An archive is no checkout.
    return '0000';
  }
}

/** One of four of these, as much as continuous integration has time for; all of them are in the suites that it leaves to `test:full`. */
export function dealtShare<T>(of: readonly T[]): readonly T[] {
  return of.filter((_, index) => index % SHARES === share);
}

/** For the names of tests: `share 2 of 4`. */
export const SHARE_NAME = `share ${share + 1} of ${SHARES}`;
