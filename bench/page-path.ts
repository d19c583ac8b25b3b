import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../tests/support/project.ts';

// A person's first minutes with the page, with pictures and how long each deed took: `node dist/bench/page-path.js [--place server|browser]
// [--out FOLDER] [--url ADDRESS | -- options of rocmforge serve, such as --model FILE --device cuda]`. Real parts throughout: the command,
// its server, Chromium, and a model on the server or in the browser (`--place browser`: the one beside the page). A deed that cannot be
// done fails with what was waited for.

const { values, positionals } = parseArgs({
  options: {
    place: { type: 'string', default: 'server' },
    out: { type: 'string', default: 'page-path' },
    url: { type: 'string' },
  },
  allowPositionals: true,
});
const MAIN = join(PROJECT_ROOT, 'dist/src/cli/rocmforge.cjs');
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };
const QUESTION = 'What is the capital of France?';
const NOTES = 'Apples: 3\nPears: 5\nPlums: 8\n';

/** What the path is walked with. */
interface Walk {
  readonly page: Page;
  readonly isServed: boolean;
  /** Takes a picture, named by its number and a word. */
  readonly picture: (word: string) => Promise<void>;
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const last = (page: Page) => page.locator('.turn.answer').last();

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.locator('.said').last().getByText(text).waitFor();
}

/** Waits until nothing is being written. */
async function answered(page: Page): Promise<void> {
  await last(page).locator('.turn-foot').waitFor({ state: 'attached' });
  await button(page, 'Send').waitFor();
}

async function fresh(page: Page): Promise<void> {
  await button(page, 'New conversation').click();
  await page.getByRole('heading', { name: 'Say something.' }).waitFor();
}

/** Sets the most tokens of an answer; '' for no limit. */
async function limit(page: Page, tokens: string): Promise<void> {
  await button(page, 'Settings').click();
  await page.getByLabel('Most tokens of an answer').fill(tokens);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** The deeds, in the order in which they are done. */
const DEEDS: readonly (readonly [name: string, deed: (walk: Walk) => Promise<void>])[] = [
  [
    'a model is there',
    async ({ page, isServed }) => {
      if (!isServed) {
        if (await button(page, /^Model: /).isVisible()) await button(page, /^Model: /).click();
        await button(page, /^Load MiniMind2 Small/).click();
        await button(page, /^Model: MiniMind2 Small/).waitFor();
      }
      await page.getByRole('textbox', { name: 'Message' }).waitFor();
    },
  ],
  [
    'a first question is answered',
    async ({ page, picture }) => {
      await limit(page, '128');
      await ask(page, QUESTION);
      await answered(page);
      await picture('answer');
    },
  ],
  [
    'an answer is stopped, and continued',
    async ({ page }) => {
      await limit(page, '');
      await ask(page, 'Tell me a very long story about a ship.');
      await last(page).locator('.text').waitFor();
      await page.keyboard.press('Escape');
      // A small model may have ended by itself.
      await answered(page);
      await limit(page, '64');
      const goOn = last(page).getByRole('button', { name: 'Continue' });
      if (await goOn.isVisible()) await goOn.click();
      await answered(page);
    },
  ],
  [
    'a question is asked otherwise, and the first version looked at again',
    async ({ page, picture }) => {
      await page.locator('.said').first().getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Edited text').fill('What is the capital of Italy?');
      await page.locator('.editor').getByRole('button', { name: 'Send' }).click();
      await page.locator('.said').getByText('Italy').waitFor();
      await answered(page);
      await picture('branch');
      await page.locator('.said').first().getByRole('button', { name: 'Previous version' }).click();
      await page.locator('.said').first().getByText(QUESTION).waitFor();
    },
  ],
  [
    'a file goes with a question',
    async ({ page, picture }) => {
      await fresh(page);
      const file = { name: 'fruit.txt', mimeType: 'text/plain', buffer: Buffer.from(NOTES) };
      await page.locator('.composer input[type=file]').setInputFiles(file);
      await page.getByRole('list', { name: 'Attached files' }).getByText('fruit.txt').waitFor();
      await picture('file');
      await ask(page, 'How many pears are there?');
      await answered(page);
    },
  ],
  [
    'conversations are searched, and opened again',
    async ({ page }) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('capital');
      const list = page.getByRole('navigation', { name: 'Conversations' });
      await list.getByText(QUESTION).click();
      await page.locator('.said').first().getByText(QUESTION).waitFor();
      await list.getByRole('searchbox').fill('');
    },
  ],
  [
    'the page is loaded again in the middle of an answer, and nothing is lost',
    async ({ page, isServed }) => {
      await limit(page, '512');
      await ask(page, 'Tell me of the sea.');
      await last(page).locator('.text').waitFor();
      await page.reload();
      await page.locator('.said').getByText('Tell me of the sea.').waitFor();
      await button(page, /^Model: /).waitFor();
      // On the server it goes on; in the browser, by a click.
      const goOn = last(page).getByRole('button', { name: 'Continue' });
      if (!isServed && (await goOn.isVisible())) await goOn.click();
      await answered(page);
    },
  ],
  [
    'on a phone, in the dark',
    async ({ page, picture }) => {
      await page.setViewportSize(PHONE);
      await button(page, 'Settings').click();
      await page.getByLabel('Colours').selectOption('dark');
      await page.keyboard.press('Escape');
      await picture('phone');
      await page.setViewportSize(DESKTOP);
      await picture('dark');
    },
  ],
];

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
async function started(): Promise<{ server: ChildProcess; url: string }> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const server = spawn(process.execPath, [MAIN, 'serve', '--port', '0', ...positionals], {
    stdio: [...stdio],
  });
  for (let said = ''; ;) {
    const [piece] = (await once(server.stdout ?? server, 'data')) as [Buffer];
    said += piece.toString();
    const [url] = /http:\/\/\S+/.exec(said) ?? [];
    if (url !== undefined) return { server, url };
  }
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
  const own = values.url === undefined ? await started() : undefined;
  const url = values.url ?? own?.url ?? '';
  try {
    await using browser = await TestBrowser.open({ viewport: DESKTOP, colorScheme: 'light' });
    const page = await browser.page('about:blank');
    const begin = performance.now();
    const open = await opened(page, url);
    let pictures = 0;
    const picture = async (word: string) => {
      const name = `path-${values.place}-${++pictures}-${word}.png`;
      await page.screenshot({ path: join(out, name) });
    };
    const deeds: object[] = [];
    for (const [name, deed] of DEEDS) {
      const before = performance.now();
      await deed({ page, isServed: values.place === 'server', picture });
      const facts = await page.locator('.turn.answer .turn-foot .numbers').allInnerTexts();
      const seconds = Number(((performance.now() - before) / 1000).toFixed(2));
      deeds.push({ name, seconds, facts: facts.at(-1) ?? '' });
      console.log(`${seconds.toFixed(2).padStart(7)} s  ${name}  ${facts.at(-1) ?? ''}`);
    }
    const seconds = Math.round((performance.now() - begin) / 1000);
    const report = { place: values.place, open, seconds, deeds };
    writeFileSync(join(out, `path-${values.place}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
    console.log(JSON.stringify(open), `${seconds} s in all, ${pictures} pictures in ${out}`);
  } finally {
    own?.server.kill('SIGTERM');
  }
}

await main();
