import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');
const keep = (settings: unknown) =>
  `localStorage.setItem('rocmforge settings', ${JSON.stringify(JSON.stringify(settings))})`;
/** What no page has written: of another version, or by another page of the same host. */
const ODD_SETTINGS = [
  null,
  [],
  {
    presets: null,
    mcpServers: null,
    temperature: 'x',
    theme: 7,
    thinking: 'perhaps',
    pastedFile: 'a',
    hub: 4,
  },
  {
    presets: [null, { name: 5 }],
    mcpServers: [null, { address: 5 }, { address: '::::' }],
    system: 9,
    topK: {},
  },
];

const say = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};

test('settings that are none leave the page as it is', { skip: NO_BROWSER }, async () => {
  await using server = await SaidServer.open(PAGE, async function* () {
    yield { content: 'An answer' };
  });
  await using browser = await TestBrowser.open();
  for (const settings of ODD_SETTINGS) {
    const page = await browser.page(`${server.url}/`, keep(settings));
    await say(page, 'A question');
    await page.locator('.answer').getByText('An answer').waitFor();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('dialog').getByText('More about sampling').waitFor();
    await page.close();
  }
});

test('what other tabs and addresses do during an answer', { skip: NO_BROWSER }, async (t) => {
  let end = () => {};
  await using server = await SaidServer.open(PAGE, async function* ({ messages }) {
    yield { content: 'An answer' };
    if (messages.at(-1)?.['content'] === 'Waits') await new Promise<void>((resolve) => (end = resolve));
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`);
  const list = page.getByRole('navigation', { name: 'Conversations' });

  await t.test('an address of another conversation opens it', async () => {
    await say(page, 'First');
    await page.locator('.answer .turn-foot').waitFor();
    const { hash } = new URL(page.url());
    assert.notEqual(hash, '');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    await page.evaluate(`location.hash = '${hash}'`);
    await page.locator('.said').getByText('First').waitFor();
  });

  await t.test('a title that another tab gives stays', async () => {
    await say(page, 'Waits');
    await page.locator('.answer').nth(1).getByText('An answer').waitFor();
    const other = await browser.page(page.url());
    await other.getByRole('button', { name: 'Rename, export or delete First' }).click();
    await other.getByLabel('Title').fill('Another title');
    await other.keyboard.press('Enter');
    await list.getByText('Another title').waitFor();
    end();
    await page.locator('.answer .turn-foot').nth(1).waitFor();
    await page.reload();
    await list.getByText('Another title').waitFor();
    await other.getByRole('navigation', { name: 'Conversations' }).getByText('Another title').waitFor();
    await other.close();
  });
});

test('servers that answer otherwise than they should', { skip: NO_BROWSER }, async (t) => {
  await using server = await SaidServer.open(PAGE, async function* () {
    yield { content: 'An answer' };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`, keep({ titles: 'words' }));
  let turns = 0;
  /** Asks, and tells what is shown for what the server answers. */
  const shown = async (reply: { status?: number; contentType: string; body: string }) => {
    await page.route('**/v1/chat/completions', (route) => route.fulfill(reply), { times: 1 });
    await say(page, 'A question');
    await page.locator('.answer .turn-foot').nth(turns).waitFor();
    return page.locator('.answer').nth(turns++).innerText();
  };
  const stream = (...lines: string[]) => ({
    contentType: 'text/event-stream',
    body: lines.map((line) => `${line}\n\n`).join(''),
  });
  const chunk = (delta: unknown, reason?: string) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason ?? null }] })}`;
  const NO_ANSWER = /What the server sent is no answer/;

  await t.test('with a page, with what is no JSON, or no object', async () => {
    assert.match(await shown({ contentType: 'text/html', body: '<h1>Log in</h1>' }), NO_ANSWER);
    assert.match(await shown({ status: 502, contentType: 'text/html', body: 'x' }), /502 Bad Gateway/);
    const broken = await shown(stream(chunk({ content: 'So far' }), 'data: {oops'));
    assert.match(broken, NO_ANSWER);
    assert.match(broken, /So far/);
    assert.match(await shown(stream(chunk({ content: 'So far' }), 'data: null')), NO_ANSWER);
  });

  await t.test('with parts that are empty, and calls that do not count from 0', async () => {
    const call = { index: 3, id: 'c', function: { name: 'nothing', arguments: null } };
    const reply = stream(
      ': a comment',
      'event: ping\ndata: {}',
      chunk(null),
      chunk({ content: 'Fine', tool_calls: null }),
      chunk({ tool_calls: [call] }, 'tool_calls'),
      'data: [DONE]',
    );
    const text = await shown(reply);
    assert.match(text, /Fine/);
    assert.match(text, /nothing\s+failed/);
    // It goes on with the call's result, by the server again.
    await page.locator('.answer').nth(turns).getByText('An answer').waitFor();
    turns++;
  });

  await t.test('with another key than before: it is asked for', async () => {
    await page.route('**/v1/models', (route) => route.fulfill({ status: 401, json: {} }));
    const refused = { contentType: 'application/json', body: '{"error":{"message":"Invalid API key"}}' };
    assert.match(await shown({ status: 401, ...refused }), /Invalid API key/);
    await page.unroute('**/v1/models');
    await page.getByRole('dialog').getByLabel('The server asks for a key').fill('key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('in use').waitFor();
  });
});
