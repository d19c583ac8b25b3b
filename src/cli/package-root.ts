import { readFileSync } from 'node:fs';

/** The folder of package.json, seen from the compiled file in dist/src/cli. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

/** The package's own version. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as {
    version: string;
  };
  return version;
}
