import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { until } from '../support/hung.ts';
import { PROJECT_ROOT } from '../support/project.ts';

test('messages that are sent during an answer wait for its end', { skip: NO_BROWSER }, async (t) => {
  const asked: string[] = [];
  let end = () => {};
  await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), async function* ({ messages }) {
    asked.push(String(messages.at(-1)?.['content']));
    yield { content: `Answer ${asked.length}` };
    await new Promise<void>((resolve) => (end = resolve));
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`);
  const waiting = page.getByRole('region', { name: 'Sent after the answer' });
  const field = page.getByRole('textbox', { name: 'Message' });
  const say = async (text: string) => {
    await field.fill(text);
    await page.keyboard.press('Enter');
  };
  const answered = (count: number) =>
    page
      .locator('.answer')
      .nth(count - 1)
      .getByText(`Answer ${count}`)
      .waitFor();

  const holds = (text: string) =>
    until(
      () => `the field holds ${text}`,
      async () => (await field.inputValue()) === text,
    );

  await t.test('seen, in their order, each after the answer to the one before', async () => {
    await say('First');
    await answered(1);
    await say('Second');
    await say('Third');
    await waiting.getByText('Third').waitFor();
    assert.deepEqual(asked, ['First']);
    await holds('');
    assert.deepEqual(await accessibilityFaults(page), []);
    end();
    await answered(2);
    assert.equal(await waiting.getByText('Second').count(), 0);
    end();
    await answered(3);
    await waiting.waitFor({ state: 'detached' });
    assert.deepEqual(asked, ['First', 'Second', 'Third']);
    end();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  });

  await t.test('deleted, taken back with their files, or sent at once', async () => {
    await say('Fourth');
    await answered(4);
    await say('Not this one');
    await waiting.getByRole('button', { name: 'Delete the message' }).click();
    await waiting.waitFor({ state: 'detached' });
    await page
      .locator('.composer input[type=file]')
      .setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('one') });
    await page.getByText('list.txt').waitFor();
    await say('Fith');
    await waiting.getByText('list.txt').waitFor();
    await waiting.getByRole('button', { name: 'Take back to edit' }).click();
    await holds('Fith');
    await page.getByRole('list', { name: 'Attached files' }).getByText('list.txt').waitFor();
    await field.fill('Fifth');
    await page.getByRole('button', { name: 'Send after the answer' }).click();
    await waiting.getByText('Fifth').waitFor();
    await waiting.getByRole('button', { name: 'Send now' }).click();
    await answered(5);
    assert.match(asked.at(-1) ?? '', /^list\.txt:\n\n```\none\n```\n\nFifth$/);
    await page.locator('.answer').nth(3).getByText('Stopped').waitFor();
  });

  await t.test('not after an answer that was stopped; they are there after a reload', async () => {
    await say('Sixth');
    await waiting.getByText('Sixth').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Not sent: the answer before').waitFor();
    assert.equal(asked.length, 5);
    await page.reload();
    await page.getByText('Not sent: the answer before').waitFor();
    await page.getByRole('button', { name: 'Send now' }).click();
    await answered(6);
    assert.equal(asked.at(-1), 'Sixth');
    end();
  });

  await t.test('while the person is in another conversation, too', async () => {
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await say('Seventh');
    await answered(7);
    await say('Eighth');
    await waiting.getByText('Eighth').waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    end();
    await page.getByText('is being answered').waitFor();
    while (asked.at(-1) !== 'Eighth') await new Promise((resolve) => setTimeout(resolve, 20));
    await page.locator('.entry-title').first().click();
    await answered(8);
    end();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await page.reload();
    await page.locator('.answer').nth(7).getByText('Answer 8').waitFor();
    assert.deepEqual(asked.slice(5), ['Sixth', 'Seventh', 'Eighth']);
  });
});
