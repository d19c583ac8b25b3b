import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { pageFiles } from '../../src/node/page-files.ts';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { listen, tinyServer, tinySource } from '../support/test-server.ts';

const DESKTOP = { width: 1280, height: 800 };
const KEY = 'open-sesame';
/** Short answers without chance, whatever a tiny random model says. */
const SETTINGS = { temperature: 0, maxTokens: 4 };
/** Tokens that are soon used up. */
const CONTEXT = 256;

/** A conversation with two branches, as llama.cpp's page exports it. */
const LLAMA_EXPORT = [
  { type: 'session', harness: 'llama.app', id: 'c', name: 'From llama.cpp', lastModified: 1, currNode: 'a2' },
  ...[
    { id: 'r', parent: null, role: 'system', type: 'root', content: '', timestamp: 1 },
    {
      id: 'q',
      parent: 'r',
      role: 'user',
      type: 'text',
      content: 'A question from there',
      timestamp: 2,
      extra: [{ type: 'TEXT', name: 'list.txt', content: 'one' }],
    },
    { id: 'a1', parent: 'q', role: 'assistant', type: 'text', content: 'One answer', timestamp: 3 },
    {
      id: 'a2',
      parent: 'q',
      role: 'assistant',
      type: 'text',
      content: 'Other answer',
      reasoningContent: 'Hm.',
      timestamp: 4,
    },
  ].map((message) => ({ type: 'message', message })),
];

/** A conversation with two branches, as Open WebUI exports it. */
const OPEN_WEBUI_EXPORT = [
  {
    id: 'w',
    title: 'From Open WebUI',
    created_at: 1,
    updated_at: 5,
    chat: {
      title: 'From Open WebUI',
      params: { system: 'Be brief.' },
      history: {
        currentId: 'b2',
        messages: {
          q: {
            id: 'q',
            parentId: null,
            childrenIds: ['b1', 'b2'],
            role: 'user',
            content: 'Another question from there',
            timestamp: 2,
            files: [{ type: 'file', name: 'two.txt', file: { data: { content: 'two' } } }],
          },
          b1: { id: 'b1', parentId: 'q', childrenIds: [], role: 'assistant', content: 'First', timestamp: 3 },
          b2: {
            id: 'b2',
            parentId: 'q',
            childrenIds: [],
            role: 'assistant',
            content:
              '<details type="reasoning" done="true" duration="7">\n<summary>Thought for 7 seconds</summary>\n&gt; So 1 &lt; 2.\n</details>\nSecond',
            model: 'that-model',
            timestamp: 4,
          },
        },
      },
    },
  },
];

/** Presses the keys of a new conversation before the browser's events tell that the dialog is closed. */
const PRESS_WHEN_CLOSED = `new MutationObserver((_, observer) => {
  if (document.querySelector('dialog[open]') !== null) return;
  observer.disconnect();
  dispatchEvent(new KeyboardEvent('keydown', { key: 'o', ctrlKey: true, shiftKey: true }));
}).observe(document.body, { subtree: true, childList: true, attributes: true })`;

/** A page on a server of a tiny model that wants a key, in a browser of its own. */
async function servedPage(t: TestContext): Promise<{ page: Page; url: string; browser: TestBrowser }> {
  const files = pageFiles(join(PROJECT_ROOT, 'dist/web'));
  const models = [tinySource('tiny', { sequences: 4, context: CONTEXT })];
  const server = await tinyServer(t, { models, page: files, keys: [KEY] });
  const url = await listen(t, server);
  const browser = await TestBrowser.open({ viewport: DESKTOP, acceptDownloads: true });
  t.after(() => browser[Symbol.asyncDispose]());
  const settings = JSON.stringify(SETTINGS);
  const first = `localStorage.getItem('rocmforge settings') ?? localStorage.setItem('rocmforge settings', '${settings}')`;
  return { page: await browser.page(`${url}/`, first), url, browser };
}

/** Types a message, sends it, and waits until so many turns are there and none is being written. */
async function say(page: Page, text: string, turns: number): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await answered(page, text, turns);
}

/** Waits until so many turns are there, the last but one of them this question, and the last one is not being written. */
async function answered(page: Page, question: string, turns: number): Promise<void> {
  const shown = page.locator('.turns > .turn');
  // What a key or a click does is drawn after the driver has gone on: the turns before it would do for what follows.
  await shown
    .nth(turns - 2)
    .locator('p', { hasText: question })
    .waitFor();
  await shown
    .nth(turns - 1)
    .locator('.turn-foot')
    .waitFor({ state: 'attached' });
  await page.locator('.composer').getByRole('button', { name: 'Send' }).waitFor();
}

/** Begins a conversation. Until it is drawn, keys and files go to the one before. */
async function fresh(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByRole('heading', { name: 'Say something.' }).waitFor();
}

const said = (page: Page) => page.locator('.said > p').allInnerTexts();

test('the served model answers, and its conversations stay', { skip: NO_BROWSER }, async (t) => {
  const { page, url, browser } = await servedPage(t);
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const list = page.getByRole('navigation', { name: 'Conversations' });

  await t.test('once a key is given, which is kept and sent to nobody else', async () => {
    await page.getByLabel('The server asks for a key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('does not know this key').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.getByLabel('The server asks for a key').fill(KEY);
    await page.keyboard.press('Enter');
    await button('Model: tiny').waitFor();
    await page.reload();
    await button('Model: tiny').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  await t.test('with an answer that says why it ended, and how full the context is', async () => {
    await say(page, 'First question', 2);
    const foot = page.locator('.answer .turn-foot');
    await foot.getByText('Reached its limit of tokens').waitFor();
    await foot.getByText(/4 tokens/).waitFor();
    await page.getByRole('meter').waitFor();
    await foot.getByRole('button', { name: 'Continue' }).click();
    await answered(page, 'First question', 2);
    assert.equal(await page.locator('.turns > .turn').count(), 2);
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  await t.test('through a reload, with what was not sent yet', async () => {
    await page.getByRole('textbox', { name: 'Message' }).fill('not sent yet');
    await page.reload();
    await page.locator('.turns > .turn').nth(1).waitFor();
    assert.deepEqual(await said(page), ['First question']);
    await button('Model: tiny').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'not sent yet');
  });

  await t.test('in branches: edited questions and other answers, back and forth', async () => {
    await page.locator('.said').hover();
    await page.locator('.said').getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edited text').fill('Another question');
    await page.locator('.editor').getByRole('button', { name: 'Send' }).click();
    await answered(page, 'Another question', 2);
    assert.deepEqual(await said(page), ['Another question']);
    await page.locator('.answer').getByRole('button', { name: 'Answer again' }).click();
    await page.locator('.answer').getByText('2/2').waitFor();
    await answered(page, 'Another question', 2);
    await page.locator('.said').hover();
    await page.locator('.said').getByRole('button', { name: 'Previous version' }).click();
    await page.getByText('First question').nth(1).waitFor();
    assert.deepEqual(await said(page), ['First question']);
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  await t.test('deleted turns and conversations come back', async () => {
    await page.locator('.answer').getByRole('button', { name: 'Delete this and what follows' }).click();
    await page.locator('.answer').waitFor({ state: 'detached' });
    await button('Undo').click();
    await page.locator('.answer').waitFor();
    await fresh(page);
    await say(page, 'Something else', 2);
    await list.getByRole('button', { name: 'Rename, export or delete Something else' }).click();
    const dialog = page.getByRole('dialog', { name: 'Conversation' });
    await dialog.getByLabel('Title').fill('Bananas');
    // Another tab's word makes the list be read again, which leaves alone what is being typed.
    await page.evaluate(() => new BroadcastChannel('rocmforge chats').postMessage('another'));
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.keyboard.press('Enter');
    await list.getByText('Bananas').waitFor();
    await list.getByRole('button', { name: 'Rename, export or delete Bananas' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await list.getByText('Bananas').waitFor({ state: 'detached' });
    await button('Undo').click();
    await list.getByText('Bananas').waitFor();
    assert.deepEqual(await said(page), ['Something else']);
  });

  await t.test('found by their words', async () => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('another QUESTION');
    assert.equal(await list.getByRole('searchbox').inputValue(), 'another QUESTION');
    await list.getByText('Bananas').waitFor({ state: 'detached' });
    await list.getByText('First question').click();
    await page.locator('.said').getByText('First question').waitFor();
    await list.getByRole('searchbox').fill('');
    await list.getByText('Bananas').waitFor();
  });

  await t.test('exported and imported again, and in step with other tabs', async () => {
    const other = await browser.page(`${url}/`);
    const saving = page.waitForEvent('download');
    await list.getByRole('button', { name: 'Export all' }).click();
    const file = await (await saving).path();
    await page.locator('input[type=file][accept^=".json"]').first().setInputFiles(file);
    await page.getByText('Its conversations are in the list.').waitFor();
    await list.getByText('Bananas').nth(1).waitFor();
    // Without a deed in it, the other tab shows them too.
    await other.getByRole('navigation', { name: 'Conversations' }).getByText('Bananas').nth(1).waitFor();
    await other.close();
  });

  await t.test('with files, which the model reads before the message', async () => {
    await fresh(page);
    const buffer = Buffer.from('apples: 3');
    const file = { name: 'notes.txt', mimeType: 'text/plain', buffer };
    await page.locator('.composer input[type=file]').setInputFiles(file);
    await page.getByRole('list', { name: 'Attached files' }).getByText('notes.txt').waitFor();
    const asking = page.waitForRequest((request) => request.method() === 'POST');
    await say(page, 'How many?', 2);
    const { messages } = (await asking).postDataJSON() as { messages: unknown };
    const content = 'notes.txt:\n\n```\napples: 3\n```\n\nHow many?';
    assert.deepEqual(messages, [{ role: 'user', content }]);
    await page.reload();
    await page.locator('.said summary').getByText('notes.txt').click();
    await page.locator('.said').getByText('apples: 3').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    assert.deepEqual(await said(page), ['How many?']);
  });

  await t.test('read from llama.cpp’s page, with branches', async () => {
    const buffer = Buffer.from(LLAMA_EXPORT.map((line) => JSON.stringify(line)).join('\n'));
    const file = { name: 'chat.jsonl', mimeType: 'application/json', buffer };
    await page.locator('input[type=file][accept^=".json"]').first().setInputFiles(file);
    await page.locator('.said').getByText('A question from there').waitFor();
    await page.locator('.answer').getByText('Other answer').waitFor();
    await page.locator('.answer').getByText('2/2').waitFor();
    await page.locator('.answer').getByText('Thoughts').waitFor();
    await page.locator('.said summary').getByText('list.txt').waitFor();
  });

  await t.test('read from Open WebUI, with branches and reasoning', async () => {
    const buffer = Buffer.from(JSON.stringify(OPEN_WEBUI_EXPORT));
    const file = { name: 'chats.json', mimeType: 'application/json', buffer };
    await page.locator('input[type=file][accept^=".json"]').first().setInputFiles(file);
    await page.locator('.said').getByText('Another question from there').waitFor();
    await page.locator('.answer > .text').getByText('Second', { exact: true }).waitFor();
    await page.locator('.answer').getByText('2/2').waitFor();
    await page.locator('.answer').getByText('that-model').waitFor();
    await page.locator('.answer').getByText('Thoughts · 7.0 s').click();
    await page.locator('.answer').getByText('So 1 < 2.', { exact: true }).waitFor();
    await page.locator('.said summary').getByText('two.txt').waitFor();
    await page.keyboard.press('Control+Shift+E');
    const prompt = page.getByLabel('System prompt of this conversation');
    assert.equal(await prompt.inputValue(), 'Be brief.');
    // Keys of the page do nothing while a dialog is open, and something as soon as it is not seen any more.
    await page.keyboard.press('Control+Shift+O');
    await page.evaluate(PRESS_WHEN_CLOSED);
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
  });

  await t.test(
    'however long: the oldest turns are left out of what the model reads, or it says so',
    async () => {
      const long = 'word '.repeat(CONTEXT / 16).trim();
      for (let turns = 2; turns <= 6; turns += 2) await say(page, `${turns} ${long}`, turns);
      await page.getByText(/left out of what the model reads/).waitFor();
      assert.equal(await page.getByRole('alert').count(), 0);
      assert.equal((await said(page)).length, 3, 'they stay on the page');
      await button('Settings').click();
      await page.getByRole('dialog').getByLabel('Colours').selectOption('dark');
      const scheme = 'getComputedStyle(document.documentElement).colorScheme';
      assert.equal(await page.evaluate(scheme), 'dark');
      await page.getByRole('dialog').getByLabel('When the context is full').selectOption('ask');
      await page.keyboard.press('Escape');
      await say(page, long, 8);
      await page.getByRole('alert').getByText(`the model takes ${CONTEXT}`).waitFor();
    },
  );
});
