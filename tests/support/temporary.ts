import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What calls back when it ends: a test, or a file of tests (`after` of `node:test`). */
export interface Ending {
  after(call: () => void): void;
}

/** A new empty folder that is removed when the test ends. */
export function temporaryFolder(t: Ending): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'rocmforge-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
