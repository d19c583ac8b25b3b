import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SHARED = fileURLToPath(new URL('../../../../shared/', import.meta.url));

/** The path of a file outside the project, or undefined if it is absent. */
export function sharedPath(...parts: readonly string[]): string | undefined {
  const path = join(SHARED, ...parts);
  return existsSync(path) ? path : undefined;
}
