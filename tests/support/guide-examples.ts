import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from './project.ts';

const run = promisify(execFile);

const OPTIONS =
  '--ignoreConfig --strict --target es2022 --module nodenext --types node ' +
  '--lib es2023,esnext.disposable,dom,dom.asynciterable';

/**
 * The test that runs the examples of a page as they are printed, by the languages of their blocks. A block that no machine of continuous
 * integration can run has the reason before it, as `<!-- not run: it needs Docker -->`.
 */
export const RUN_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': { sh: 'full/guide-commands', js: 'cli/readme', ts: 'full/guides' },
  'docs/adapters.md': { sh: 'full/guide-commands', ts: 'full/guides' },
  'docs/browser.md': { ts: 'full/browser-library' },
  'docs/bundling.md': { js: 'full/package' },
  'docs/by-hand.md': { ts: 'full/guides' },
  'docs/choosing-a-model.md': { sh: 'full/guide-commands' },
  'docs/cli.md': { sh: 'full/guide-commands' },
  'docs/engine.md': { ts: 'full/guides' },
  'docs/grammar.md': { ts: 'full/guides' },
  'docs/haproxy.md': { haproxy: 'server/haproxy' },
  'docs/hip-cuda.md': { sh: 'full/guide-commands' },
  'docs/library.md': { ts: 'full/guides' },
  'docs/loading.md': { ts: 'full/guides' },
  'docs/migration.md': { ts: 'full/guides', js: 'full/guides' },
  'docs/models-by-name.md': { sh: 'full/guide-commands' },
  'docs/quantize.md': { sh: 'full/guide-commands' },
  'docs/server.md': { sh: 'full/guide-commands', text: 'node/key-file' },
  'docs/tools.md': { ts: 'full/guides' },
  'docs/troubleshooting.md': { sh: 'full/guide-commands' },
};

/** The pages whose blocks of a language a test runs. */
export function pagesRunBy(test: string, language: string): string[] {
  return Object.keys(RUN_BY).filter((page) => RUN_BY[page]?.[language] === test);
}

/** A block of code in a page. */
export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  /** Why no test runs it. */
  readonly notRun: string | undefined;
}

/** The blocks of code in a page's text, in order. */
export function blocksIn(text: string): CodeBlock[] {
  const blocks = text.matchAll(/(?:^<!-- not run: (.+) -->\n+)?^```(\S*)\n([\s\S]*?)^```$/gm);
  return Array.from(blocks, ([, notRun, language = '', code = '']) => ({ language, code, notRun }));
}

/** The code blocks of a language in a page's text that can be run. */
export function examplesIn(text: string, language: string): string[] {
  const wanted = blocksIn(text).filter((block) => block.language === language && !block.notRun);
  return wanted.map(({ code }) => code);
}

/** The code blocks of a language in a page, by its path. */
export function examplesOf(page: string, language: string): string[] {
  return examplesIn(readFileSync(join(PROJECT_ROOT, page), 'utf8'), language);
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
