import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pageFiles } from '../../src/node/page-files.ts';
import { Site } from '../support/browser/site.ts';
import { type OtherBrowser, WebDriver, whyNot } from '../support/browser/webdriver.ts';
import { WebDriverPage } from '../support/browser/webdriver-page.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { listen, tinyServer, tinySource } from '../support/test-server.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');
const KEY = 'open-sesame';
/** Short answers without chance, whatever a tiny random model says. */
const SETTINGS = { temperature: 0, maxTokens: 4, context: 128 };
const KEEP_SETTINGS = `localStorage.setItem('rocmforge settings', args[0])`;
const MODEL = '/tiny.gguf';
/** Browsers that keep files for pages, and those whose isolated pages share memory with their workers. */
const KEEPS: readonly OtherBrowser[] = ['Firefox'];
const SHARES: readonly OtherBrowser[] = ['Firefox'];

for (const browser of ['Firefox', 'WebKit'] as const) {
  describe(`the page in ${browser}`, { skip: whyNot(browser), concurrency: 1 }, () => {
    test('the served model, by its key: answers, branches, search, undo, and all of it after a reload', async (t) => {
      const models = [tinySource('tiny', { sequences: 4, context: 256 })];
      const server = await tinyServer(t, { models, page: pageFiles(PAGE), keys: [KEY] });
      const url = await listen(t, server);
      await using driver = await WebDriver.open(browser);
      const page = new WebDriverPage(driver);
      await driver.goto(`${url}/`);
      await driver.resize(1280, 800);
      await driver.value(KEEP_SETTINGS, JSON.stringify(SETTINGS));
      await driver.reload();
      await page.fill('The server asks for a key', `${KEY}\uE007`);
      await page.button('Model: tiny');
      await page.picture(`${browser}-first`);
      await page.say('First question', 2);
      await page.picture(`${browser}-answer`);
      assert.deepEqual(await page.nameless(), []);
      await driver.reload();
      await page.turns(2);
      assert.deepEqual(await page.said(), ['First question']);
      await page.button('Model: tiny');

      await page.press('Edit', '.said');
      await page.replace('Edited text', 'Another question');
      await page.press('Send', '.editor');
      await page.answered('Another question', 2);
      await page.press('Previous version', '.said');
      await page.answered('First question', 2);

      await page.press('Delete this and what follows', '.answer');
      await driver.shown(`!document.querySelector('.turn.answer')`);
      await page.press('Undo');
      await driver.shown(`document.querySelector('.turn.answer')`);

      await page.press('New conversation');
      await driver.shown(`document.querySelector('h1')?.textContent === 'Say something.'`);
      await page.say('Something else', 2);
      await driver.press('k', '\uE009');
      await driver.press('another QUESTION');
      await driver.shown(`document.activeElement.value === 'another QUESTION'`);
      await driver.shown(`!/Something else/.test(document.querySelector('nav').innerText)`);
      assert.deepEqual(await page.nameless(), []);
    });

    for (const isolated of [true, false]) {
      const where = isolated ? 'isolated' : 'not isolated, on one thread';
      test(`a model in the browser, ${where}`, async () => {
        await using site = await Site.open(PAGE, { isolated });
        site.files.set(MODEL, await tinyBytes('F32'));
        await using driver = await WebDriver.open(browser);
        const page = new WebDriverPage(driver);
        // The service worker would isolate the page by itself: no browser takes a script of no type for one.
        if (!isolated) site.files.set('/service-worker.js', new Uint8Array());
        await driver.goto(`${site.url}/`);
        await driver.value(
          KEEP_SETTINGS,
          JSON.stringify({ ...SETTINGS, theme: isolated ? 'dark' : 'light' }),
        );
        await driver.goto(`${site.url}/`);
        await driver.resize(390, 780);
        const threads = await driver.value<boolean>(
          `crossOriginIsolated && typeof SharedArrayBuffer === 'function'`,
        );
        assert.equal(threads, isolated && SHARES.includes(browser));
        await page.fill('A GGUF file’s address', `${site.url}${MODEL}\uE007`);
        await page.button('Model: tiny.gguf');
        await page.say('Hi', 2);
        await page.picture(`${browser}-phone-${isolated ? 'isolated' : 'alone'}`);
        assert.deepEqual(await page.nameless(), []);
        if (!KEEPS.includes(browser)) return;
        // What is stored is read by a second tab while the first one has it open.
        const asked = () => site.requests.filter((request) => request.startsWith(MODEL)).length;
        const before = asked();
        const leave = await driver.tab(`${site.url}/`);
        await page.press('Load tiny.gguf');
        await page.button('Model: tiny.gguf');
        await page.say('Hello', 2);
        assert.equal(asked(), before, 'from its storage');
        await page.press('Model: tiny.gguf');
        await page.press('Delete tiny.gguf from this browser');
        await driver.shown(`/in use/.test(document.querySelector('[role=alert]')?.textContent ?? '')`);
        await leave();
        await page.say('Again', 4);
      });
    }
  });
}
