import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

test('answers of the server go on while the person is elsewhere', { skip: NO_BROWSER }, async (t) => {
  /** What lets each answer come to its end. */
  const ends = new Map<string, () => void>();
  await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), async function* ({ messages }) {
    const asked = String(messages.at(-1)?.['content']);
    yield { content: `Begin of ${asked}.` };
    await new Promise<void>((resolve) => ends.set(asked, resolve));
    yield { content: ` End of ${asked}.` };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  const ask = async (text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('.answer').getByText(`Begin of ${text}.`).waitFor();
  };
  const fresh = async () => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
  };

  await t.test('two at once, each in its conversation', async () => {
    await ask('one');
    await fresh();
    await list.getByText('is being answered').waitFor();
    await ask('two');
    ends.get('one')?.();
    await list.getByText('is being answered').waitFor({ state: 'detached' });
    await list.getByText('one').click();
    await page.locator('.answer').getByText('Begin of one. End of one.').waitFor();
    await list.getByText('two').click();
    await page.locator('.answer[aria-busy=true]').getByText('Begin of two.').waitFor();
    ends.get('two')?.();
    await page.locator('.answer').getByText('Begin of two. End of two.').waitFor();
    await page.reload();
    await page.locator('.answer').getByText('Begin of two. End of two.').waitFor();
  });

  await t.test('not in one that is deleted, here or in another tab', async () => {
    await fresh();
    await ask('three');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.said').getByText('three').waitFor();
    await other.keyboard.press('Control+Shift+d');
    await other.getByRole('button', { name: 'Undo' }).waitFor();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    ends.get('three')?.();
    assert.equal(await list.getByText('three').count(), 0);
    await other.getByRole('button', { name: 'Undo' }).click();
    await list.getByText('three').click();
    assert.deepEqual(await page.locator('.said > p').allInnerTexts(), ['three']);
    await other.close();
  });
});
