import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../tests/support/project.ts';
import { DEEDS, DESKTOP, type Walk } from './page-path/deeds.ts';

// A person's first minutes with the page, with pictures and how long each deed took: `node dist/bench/page-path.js [--place server|browser]
// [--out FOLDER] [--name WORD] [--url ADDRESS | -- options of rocmforge serve, such as --model FILE --device cuda]`. Real parts throughout:
// the command, its server, Chromium, and a model on the server or in the browser (`--place browser`: the one beside the page). A deed that
// cannot be done is told with what was waited for and a picture; the others are done all the same, and the status is 1.

const { values, positionals } = parseArgs({
  options: {
    place: { type: 'string', default: 'server' },
    out: { type: 'string', default: 'page-path' },
    name: { type: 'string' },
    url: { type: 'string' },
  },
  allowPositionals: true,
});
const MAIN = join(PROJECT_ROOT, 'dist/src/cli/rocmforge.cjs');
const NAME = values.name ?? values.place;

/** Milliseconds until the page showed something, and until a person could write or choose. */
async function opened(page: Page, url: string): Promise<object> {
  await page.goto(url);
  await page.locator('#message, .picker button').first().waitFor();
  const usable = await page.evaluate<number>('performance.now()');
  const paint = await page.evaluate<number>(
    `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
  );
  return { firstPaint: Math.round(paint), usable: Math.round(usable) };
}

/** A server of its own, with the options behind `--`, and its address. */
async function started(port = '0'): Promise<{ server: ChildProcess; url: string }> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const server = spawn(process.execPath, [MAIN, 'serve', '--port', port, ...positionals], {
    stdio: [...stdio],
  });
  for (let said = ''; ;) {
    const [piece] = (await Promise.race([once(server.stdout ?? server, 'data'), ended(server)])) as [Buffer];
    said += piece.toString();
    const [url] = /http:\/\/\S+/.exec(said) ?? [];
    if (url !== undefined) return { server, url };
  }
}

async function ended(server: ChildProcess): Promise<never> {
  const [code] = (await once(server, 'exit')) as [number | null];
  throw new Error(`the server ended with status ${code}`);
}

/** The walk's own server, which can be killed and come back at its address. */
async function ownServer() {
  let { server, url } = await started();
  return {
    url,
    kill: async () => {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    },
    restart: async () => {
      ({ server, url } = await started(new URL(url).port));
    },
    end: () => server.kill('SIGTERM'),
  };
}

/** Does all deeds in turn; how many could not be done. */
async function walked(walk: Walk, deeds: object[]): Promise<number> {
  let failed = 0;
  const { page } = walk;
  for (const [name, deed] of DEEDS) {
    const before = performance.now();
    let fault: string | undefined;
    try {
      await deed(walk);
    } catch (error) {
      fault = String(error);
      failed++;
      await walk.picture('failed');
      await page.keyboard.press('Escape');
    }
    const facts = await page.locator('.turn.answer .turn-foot .numbers').allInnerTexts();
    const seconds = Number(((performance.now() - before) / 1000).toFixed(2));
    deeds.push({ name, seconds, facts: facts.at(-1) ?? '', fault });
    console.log(`${seconds.toFixed(2).padStart(7)} s  ${name}  ${fault ?? facts.at(-1) ?? ''}`);
  }
  return failed;
}

async function main(): Promise<void> {
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  if (process.env['ROCMFORGE_TEST_CHROMIUM'] === undefined) {
    const { unpackChromium } = (await import(join(PROJECT_ROOT, 'scripts/unpack-chromium.mjs'))) as {
      unpackChromium(root: string): Promise<string | undefined>;
    };
    process.env['ROCMFORGE_TEST_CHROMIUM'] = await unpackChromium(PROJECT_ROOT);
  }
  const { TestBrowser } = await import('../tests/support/browser/chromium.ts');
  const own = values.url === undefined ? await ownServer() : undefined;
  const url = values.url ?? own?.url ?? '';
  try {
    await using browser = await TestBrowser.open({ viewport: DESKTOP, colorScheme: 'light' });
    const page = await browser.page('about:blank');
    page.setDefaultTimeout(STUCK_MS);
    // What the page's policy forbids, and every other complaint of the browser.
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    const begin = performance.now();
    const open = await opened(page, url);
    let pictures = 0;
    const picture = async (word: string) => {
      const number = String(++pictures).padStart(2, '0');
      const path = join(out, `path-${NAME}-${number}-${word}.png`);
      await page.screenshot({ path });
    };
    const deeds: object[] = [];
    const isServed = values.place === 'server';
    const failed = await walked({ page, isServed, picture, folder: out, server: own }, deeds);
    const seconds = Math.round((performance.now() - begin) / 1000);
    const report = { place: values.place, open, seconds, deeds, complaints };
    writeFileSync(join(out, `path-${NAME}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
    console.log(JSON.stringify(open), `${seconds} s in all, ${pictures} pictures in ${out}`);
    for (const said of new Set(complaints)) console.log('the browser says:', said);
    process.exitCode = failed > 0 ? 1 : 0;
  } finally {
    own?.end();
  }
}

/** What is not there within this is missing, in milliseconds. */
const STUCK_MS = 60_000;

await main();
