import { posix } from 'node:path';
import { type SourceFile, sourceFiles } from '../support/project.ts';

/** What a file imports: paths of our own files from the root, and names of packages and of Node's modules. */
export interface Imports {
  readonly file: string;
  readonly own: readonly string[];
  readonly packages: readonly string[];
}

const IMPORT =
  /^\s*(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'/gm;

/** What one file imports. */
export function importsOf({ path, text }: SourceFile): Imports {
  const names = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  return {
    file: path,
    own: names.filter((name) => name.startsWith('.')).map((name) => posix.join(posix.dirname(path), name)),
    packages: names.filter((name) => !name.startsWith('.')),
  };
}

/** The imports of every file of `src/` that tsc compiles. */
export function sourceImports(): Imports[] {
  return sourceFiles('src')
    .filter(({ path }) => !path.startsWith('src/devices/cpu/kernels/'))
    .map(importsOf);
}
