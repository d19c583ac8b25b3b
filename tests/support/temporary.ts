import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A new empty folder that is removed when the test ends. */
export function temporaryFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'rocmforge-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
