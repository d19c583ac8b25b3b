import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Compiled tests run from dist/tests/support; fixtures stay where they are committed. */
const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), '../../../tests/fixtures');

/** Path of a committed fixture. */
export function fixture(path: string): string {
  return join(FIXTURES, path);
}
