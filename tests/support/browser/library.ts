import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import type * as Rocmforge from '../../../src/browser/index.ts';
import { PROJECT_ROOT } from '../project.ts';

const ENTRIES = ['index', 'engine-worker', 'cpu-worker', 'decode-worker'];

/**
 * Bundles the built library for browsers as a user would, into a folder with a page that exposes it as the global
 * `rocmforge`.
 */
export async function bundleLibrary(folder: string, from = join(PROJECT_ROOT, 'dist/src')): Promise<void> {
  await build({
    entryPoints: ENTRIES.map((name) => join(from, `browser/${name}.js`)),
    outdir: join(folder, 'browser'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    logLevel: 'warning',
  });
  mkdirSync(join(folder, 'devices/cpu'), { recursive: true });
  for (const variant of ['relaxed', 'baseline']) {
    const file = `devices/cpu/kernels.${variant}.wasm`;
    cpSync(join(from, file), join(folder, file));
  }
  const script = `import * as rocmforge from './browser/index.js'; Object.assign(globalThis, { rocmforge });`;
  const html = `<!doctype html><title>library</title><script type="module">${script}</script>`;
  writeFileSync(join(folder, 'index.html'), html);
}

/** The arguments of code that runs in the page: the library and the test's value. */
export type InPage<A, R> = (library: typeof Rocmforge, given: A) => Promise<R>;

/** Runs a function in the page. It can use nothing from the test except what it is given. */
export async function inPage<A, R>(page: Page, given: A, run: InPage<A, R>): Promise<R> {
  await page.waitForFunction('globalThis.rocmforge !== undefined');
  const expression = `(${run.toString()})(globalThis.rocmforge, ${JSON.stringify(given)})`;
  return page.evaluate(expression);
}
