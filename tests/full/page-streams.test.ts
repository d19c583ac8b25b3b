import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { pageFiles } from '../../src/node/page-files.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { until } from '../support/hung.ts';
import { activeRequests, listen, tinyServer, tinySource } from '../support/test-server.ts';

const TOKENS = 2000;
const SETTINGS = JSON.stringify({
  temperature: 0,
  maxTokens: TOKENS,
  titles: 'words',
  serverFields: '{"ignore_eos": true}',
});

/** A network between a page and its server, which can be cut. */
class TestNetwork implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #target: URL;

  constructor(target: string) {
    this.#target = new URL(target);
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(socket: Socket): void {
    const other = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}

const answer = (page: Page) => page.locator('.answer');

/** Asks, and waits for the first words of the answer. */
async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await answer(page).locator('.text').waitFor();
}

/** An answer's text as it is formatted, with formulas as they were written, which become what they are some time later. */
const FORMATTED = `(() => {
  const shown = document.querySelector('.answer .text').cloneNode(true);
  for (const formula of shown.querySelectorAll('.math'))
    formula.textContent = formula.querySelector('annotation')?.textContent ?? formula.textContent;
  return shown.textContent;
})()`;

/** The whole answer, once it has come: formatted, and as the model wrote it. */
async function whole(page: Page): Promise<{ formatted: string; written: string | null }> {
  await answer(page).getByText('Reached its limit of tokens').waitFor();
  const formatted = await page.evaluate<string>(FORMATTED);
  await page.getByRole('button', { name: 'Show as the model wrote it' }).click();
  return { formatted, written: await answer(page).locator('.raw').textContent() };
}

test(
  'an answer of the server outlives its page and its connection, and goes on',
  { skip: NO_BROWSER },
  async (t) => {
    const models = [tinySource('tiny', { sequences: 4, context: 2 * TOKENS })];
    const server = await tinyServer(t, { models, page: pageFiles(join(PROJECT_ROOT, 'dist/web')) });
    await using network = new TestNetwork(await listen(t, server));
    const url = await network.open();
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
    const first = `localStorage.getItem('rocmforge settings') ?? localStorage.setItem('rocmforge settings', ${JSON.stringify(SETTINGS)})`;
    const page = await browser.page(`${url}/`, first);
    const fresh = async () => {
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    };
    await ask(page, 'A question');
    const expected = await whole(page);

    await t.test('a reload in the middle of it', async () => {
      await fresh();
      await ask(page, 'A question');
      await page.reload();
      assert.deepEqual(await whole(page), expected);
      await page.reload();
      assert.deepEqual(await whole(page), expected);
    });

    await t.test('a connection that is cut', async () => {
      await fresh();
      await ask(page, 'A question');
      network.cut();
      assert.deepEqual(await whole(page), expected);
      assert.equal(await page.getByRole('alert').count(), 0);
    });

    await t.test('but not the person’s wish to end it', async () => {
      // On a busy machine the answer may come to its end first.
      do {
        await fresh();
        await ask(page, 'A question');
        await page.keyboard.press('Escape');
        await answer(page).locator('.turn-foot').waitFor();
      } while (!(await answer(page).getByText('Stopped').isVisible()));
      await until(
        () => 'the server goes on',
        async () => (await activeRequests(server)) === 0,
      );
      await page.reload();
      await answer(page).getByText('Stopped').waitFor();
      await page.getByRole('button', { name: 'Continue' }).waitFor();
    });
  },
);
