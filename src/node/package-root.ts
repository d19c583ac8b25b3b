import { readFileSync } from 'node:fs';
import { packageFile } from './package-file.ts';

/** The folder of package.json, seen from the compiled file in dist/src/node. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

/** The package's own version. Throws `PACKAGE_INCOMPLETE` where a bundler left its `package.json` behind. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packageFile('package.json', PACKAGE_ROOT.href), 'utf8')) as {
    version: string;
  };
  return version;
}
