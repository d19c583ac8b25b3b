import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { zip } from '../support/browser/zip.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const turn = { id: 'a', role: 'user', text: 'Said', state: 'done', at: 1 };
const ours = (...conversations: unknown[]) =>
  JSON.stringify({ format: 'rocmforge conversations', version: 1, conversations });
const REFUSED = ['', '{"format":', 'null', '[]', '[{},{}]', ours(null), ours({ info: {} })].concat(
  [null, { id: 'a' }, { ...turn, text: {} }, { ...turn, role: 'system' }].map((of) =>
    ours({ info: {}, turns: [of] }),
  ),
);
/** What a file may say of a conversation that is none of its business, or that no page can show. */
const ODD = ours(
  {
    info: { title: 5, changed: 'yesterday', leaf: 'a', pinned: 'x' },
    turns: [{ ...turn, at: 'x', calls: { a: 1 } }],
  },
  {
    info: { title: 'Circle', leaf: 'a' },
    turns: [
      { ...turn, parent: 'b' },
      { ...turn, id: 'b', parent: 'a' },
    ],
  },
  { info: { title: 'Proto', leaf: '__proto__' }, turns: [{ ...turn, id: '__proto__' }] },
  {
    info: { title: 'Written', leaf: 'a' },
    turns: [
      {
        ...turn,
        role: 'assistant',
        state: 'writing',
        stream: { name: 'x' },
        error: 1,
        pace: 3,
        attachments: 'no',
      },
    ],
  },
);

/** All conversations of llama.cpp's page, as it exports them. */
const ARCHIVE = ['First', 'Second'].map((name, at): [string, string] => [
  `2026-01-01_conv_${at}.jsonl`,
  [
    { type: 'session', harness: 'llama.app', id: 'c', name, currNode: 'q' },
    { type: 'message', message: { id: 'q', parent: null, role: 'user', content: `Said, ${name}` } },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n'),
]);

test(
  'an archive of conversations is taken whole, others as what they are',
  { skip: NO_BROWSER },
  async () => {
    await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), async function* () {
      yield { content: 'An answer' };
    });
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
    const page = await browser.page(`${server.url}/`);
    const take = (into: string, files: Readonly<Record<string, string>>) =>
      page
        .locator(`${into} input[type=file]`)
        .setInputFiles({ name: 'chats.zip', mimeType: 'application/zip', buffer: zip(files) });
    await page.getByText('Conversations appear here.').waitFor();
    await take('nav', Object.fromEntries([...ARCHIVE, ['notes.txt', 'no conversation']]));
    await page.locator('.entry').nth(1).waitFor();
    await page.locator('.said').getByText('Said, First').waitFor();
    await take('nav', { ...Object.fromEntries(ARCHIVE), 'other.json': '{}' });
    await page.getByText('This is no file of conversations.').waitFor();
    await take('.composer', { 'notes.txt': 'no conversation' });
    await page.getByText('No text can be read from this kind of file.').waitFor();
    assert.equal(await page.locator('.entry').count(), 2);
  },
);

test(
  'files that are no conversations leave the page as it is, odd ones are taken as far as they go',
  { skip: NO_BROWSER },
  async () => {
    await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), async function* () {
      yield { content: 'An answer' };
    });
    await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
    const page = await browser.page(`${server.url}/`);
    const take = (text: string) =>
      page
        .locator('nav input[type=file]')
        .setInputFiles({ name: 'chats.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await page.getByText('Conversations appear here.').waitFor();
    for (const text of REFUSED) {
      await take(text);
      await page.getByText('This is no file of conversations.').waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).click();
    }
    assert.equal(await page.locator('.entry').count(), 0);
    await take(ODD);
    await page.locator('.entry').nth(3).waitFor();
    for (const at of [0, 1, 2, 3]) {
      await page.locator('.entry-title').nth(at).click();
      await page.locator('.entry.open').nth(0).waitFor();
      await page.locator('.turn').getByText('Said').first().waitFor();
    }
    await page.reload();
    await page.locator('.entry').nth(3).waitFor();
    await page.locator('.turn').getByText('Said').first().waitFor();
  },
);
