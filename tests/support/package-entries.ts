import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './project.ts';

/** What an entry of the package is for TypeScript, for bundlers, and for Node if it has a file of its own; absolute paths. */
export interface PackageEntry {
  /** As package.json names it: `.`, `./server`. */
  readonly name: string;
  readonly types: string;
  readonly module: string;
  readonly node: string | undefined;
}

/** The entries that code imports from package.json's exports. */
export function packageEntries(): PackageEntry[] {
  const { exports } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string; node?: string; default: string }>;
  };
  return Object.entries(exports).flatMap(([name, of]) => {
    if (typeof of === 'string') return [];
    const [types, module] = [join(PROJECT_ROOT, of.types), join(PROJECT_ROOT, of.default)];
    return [{ name, types, module, node: of.node === undefined ? undefined : join(PROJECT_ROOT, of.node) }];
  });
}
