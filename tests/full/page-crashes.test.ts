import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { Site } from '../support/browser/site.ts';
import { until } from '../support/hung.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');
const BEGUN = 'What was shown of the answer.';

/** The beginning of an answer, and no more until the caller lets it go on. */
function begunAnswer() {
  let goOn = (): void => {};
  const rest = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  async function* say(): AsyncGenerator<{ content: string }> {
    yield { content: BEGUN };
    await rest;
    yield { content: ' And its end.' };
  }
  return { say, goOn };
}

const answer = (page: Page) => page.locator('.turn.answer .text');

/** Waits until a function says so in the page. Playwright's own wait takes the promise of one for an answer. */
async function isTrue(page: Page, asked: string, text: string): Promise<void> {
  await until(
    () => `never true: ${asked}`,
    () => page.evaluate<boolean>(`(${asked})(${JSON.stringify(text)})`),
  );
}

/** Asks, and waits until the answer's beginning is shown and has been kept. */
async function askAndSee(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Model: text' }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('A question');
  await page.keyboard.press('Enter');
  await answer(page).getByText(BEGUN).waitFor();
  await isTrue(page, IS_KEPT, BEGUN);
  await page.getByRole('textbox', { name: 'Message' }).fill('not sent yet');
  await isTrue(page, IS_DRAFT, 'not sent yet');
}

/** Whether some record of the page's database has a text. */
const IS_KEPT = `async (text) => {
  for (const { name } of await indexedDB.databases()) {
    const base = await new Promise((resolve, reject) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = reject;
    });
    try {
      for (const store of base.objectStoreNames) {
        const all = await new Promise((resolve, reject) => {
          const asking = base.transaction(store).objectStore(store).getAll();
          asking.onsuccess = () => resolve(asking.result);
          asking.onerror = reject;
        });
        if (JSON.stringify(all).includes(text)) return true;
      }
    } finally {
      base.close();
    }
  }
  return false;
}`;
const IS_DRAFT = `(text) => JSON.stringify({ ...localStorage, ...sessionStorage }).includes(text)`;

/** What a person sees after it: the question, the answer's beginning, and what was not sent. */
async function stillThere(page: Page): Promise<void> {
  await answer(page).getByText(BEGUN).waitFor();
  assert.deepEqual(await page.locator('.said > p').allInnerTexts(), ['A question']);
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'not sent yet');
  assert.deepEqual(await accessibilityFaults(page), []);
}

test('what was shown of an answer outlives the page', { skip: NO_BROWSER }, async (t) => {
  for (const [name, end] of [
    ['a reload in the middle of it', (page: Page) => page.reload().then(() => page)],
    ['a crash of its tab', crashTab],
  ] as const) {
    await t.test(name, async () => {
      const { say, goOn } = begunAnswer();
      await using server = await SaidServer.open(PAGE, say);
      await using browser = await TestBrowser.open();
      const page = await browser.page(`${server.url}/`);
      await askAndSee(page);
      await stillThere(await end(page));
      goOn();
    });
  }
  await t.test('a crash of the browser', async () => {
    const { say, goOn } = begunAnswer();
    await using server = await SaidServer.open(PAGE, say);
    await using browser = await TestBrowser.open();
    const page = await browser.page(`${server.url}/`);
    await askAndSee(page);
    const url = page.url();
    await browser.restart();
    await stillThere(await browser.page(url));
    goOn();
  });
});

/** Crashes the renderer, and opens the address again in a new tab, as browsers' own button does. */
async function crashTab(page: Page): Promise<Page> {
  const context = page.context();
  const url = page.url();
  const crashed = page.waitForEvent('crash');
  const session = await context.newCDPSession(page);
  // The answer to it never comes.
  session.send('Page.crash').catch(() => {});
  await crashed;
  await page.close();
  const again = await context.newPage();
  await again.goto(url);
  return again;
}

test('what was shown of an answer outlives its server and the network', { skip: NO_BROWSER }, async (t) => {
  await t.test('a server that ends in the middle of it', async () => {
    const { say, goOn } = begunAnswer();
    const server = await SaidServer.open(PAGE, say);
    await using browser = await TestBrowser.open();
    const page = await browser.page(`${server.url}/`);
    await askAndSee(page);
    await server[Symbol.asyncDispose]();
    await page.getByText('The answer broke off').waitFor();
    await stillThere(page);
    goOn();
  });
  await t.test('a network that is lost in the middle of it, and back', async () => {
    const { say, goOn } = begunAnswer();
    await using server = await SaidServer.open(PAGE, say);
    await using browser = await TestBrowser.open();
    const page = await browser.page(`${server.url}/`);
    await askAndSee(page);
    server.cut();
    await page.getByText('The answer broke off').waitFor();
    await stillThere(page);
    goOn();
    await page.getByRole('button', { name: 'Continue' }).click();
    await answer(page).getByText('And its end.').waitFor();
    assert.deepEqual(await page.locator('.said > p').allInnerTexts(), ['A question']);
  });
});

test(
  'what was shown outlives the engine’s worker, and a download a network that is lost',
  { skip: NO_BROWSER },
  async (t) => {
    await using site = await Site.open(PAGE);
    const tiny = await tinyBytes('F32');
    site.files.set('/tiny.gguf', tiny);
    await using browser = await TestBrowser.open();
    const settings = JSON.stringify({ device: 'cpu', temperature: 0, context: 4096, maxTokens: 4000 });
    const page = await browser.page(
      `${site.url}/`,
      `localStorage.getItem('rocmforge settings') ?? localStorage.setItem('rocmforge settings', '${settings}')`,
    );
    const button = (name: string | RegExp) => page.getByRole('button', { name });

    await t.test('a connection that stays lost: it goes on by itself when it is back', async () => {
      site.behaviour.cuts = [100_000, 0, 0, 0, 0, 0, 0, 0];
      await page.getByLabel('A GGUF file’s address').fill(`${site.url}/tiny.gguf`);
      await page.keyboard.press('Enter');
      await page.getByText('The connection was lost: it goes on by itself').waitFor();
      assert.deepEqual(await accessibilityFaults(page), []);
      site.behaviour.cuts = [];
      await page.evaluate(`dispatchEvent(new Event('online'))`);
      await button('Model: tiny.gguf').waitFor();
      assert.match(site.requests.at(-1) ?? '', /bytes=[1-9]/);
    });

    await t.test(
      'a worker that dies: what it said stays, and goes on once the model is loaded again',
      async () => {
        // Not one of its threads, which never answer, nor that of an attempt before.
        const worker = page.workers().findLast((of) => of.url().endsWith('/engine-worker.js'));
        assert.ok(worker, 'the engine has a worker');
        // What a browser does to a worker that is out of memory: nothing comes from it any more but an error. After a few words of an
        // answer, which the tiny model would end before anybody has seen it.
        await worker.evaluate(`{
          const { postMessage } = globalThis;
          let left = 10;
          globalThis.postMessage = (...said) => {
            if (left-- > 0) return postMessage(...said);
            if (left === -1) setTimeout(() => { throw new Error('the worker has died'); });
          };
        }`);
        await page.getByRole('textbox', { name: 'Message' }).fill('A question');
        await page.keyboard.press('Enter');
        await answer(page).waitFor();
        await page.getByText('The answer broke off').waitFor();
        assert.ok((await answer(page).innerText()).length > 0);
        await button('Settings').click();
        await page.getByLabel('Most tokens of an answer').fill('4');
        await button('Reload the model').click();
        await button('Continue').click();
        await page.getByText('Reached its limit of tokens').waitFor();
        await page.reload();
        await answer(page).waitFor();
        assert.deepEqual(await page.locator('.said > p').allInnerTexts(), ['A question']);
      },
    );
  },
);
