import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from './project.ts';

const run = promisify(execFile);

const OPTIONS =
  '--ignoreConfig --strict --target es2022 --module nodenext --types node ' +
  '--lib es2023,esnext.disposable,dom,dom.asynciterable';

/** The code blocks of a language in a page. */
export function examplesIn(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'));
  return Array.from(blocks, ([, code = '']) => code);
}

/** Compiles files to JavaScript next to them, in one compiler run. Rejects with the compiler's output. */
export async function compileStrictly(...files: readonly string[]): Promise<void> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  await run(process.execPath, [tsc, ...OPTIONS.split(' '), ...files], { cwd: PROJECT_ROOT });
}

/** A new folder in which the package resolves by its own name; the caller removes it. */
export function folderInPackage(): string {
  const parent = join(PROJECT_ROOT, 'dist/tests');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, 'guide-'));
}
