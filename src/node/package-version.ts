import { readFileSync } from 'node:fs';
import { packageFile } from './package-file.ts';

/** The package's own version. Throws `PACKAGE_INCOMPLETE` where a bundler left its `package.json` behind. */
export function packageVersion(): string {
  const file = packageFile('../../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return version;
}
