import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageFiles } from '../../src/node/page-files.ts';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { listen, tinyServer, tinySource } from '../support/test-server.ts';

/** Short answers without chance, whatever a tiny random model says; it cannot reason, and has no switch for that. */
const SETTINGS = { temperature: 0, maxTokens: 4, thinking: 'no' };

test('what people are used to from llama.cpp’s page', { skip: NO_BROWSER }, async (t) => {
  const models = ['one', 'two'].map((id) => tinySource(id, { sequences: 2, context: 512 }));
  const page = pageFiles(join(PROJECT_ROOT, 'dist/web'));
  const url = await listen(t, await tinyServer(t, { models, page }));
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const keep = (settings: object) =>
    `localStorage.setItem('rocmforge settings', '${JSON.stringify(settings)}')`;
  const tab = await browser.page(`${url}/?q=What%20is%20100%25?&model=two`, keep(SETTINGS));
  const asked: Record<string, unknown>[] = [];
  tab.on('request', (request) => {
    if (request.url().endsWith('/chat/completions')) asked.push(request.postDataJSON());
  });
  const field = tab.getByRole('textbox', { name: 'Message' });
  const say = async (text: string) => {
    const before = await tab.locator('.answer .turn-foot').count();
    await field.fill(text);
    await tab.keyboard.press('Enter');
    await tab.locator('.answer .turn-foot').nth(before).waitFor();
    await tab.getByRole('button', { name: 'Send', exact: true }).waitFor();
  };
  const list = tab.getByRole('navigation', { name: 'Conversations' });
  const said = () => tab.locator('.said > p').allInnerTexts();

  await t.test('an address with a message and a model', async () => {
    await tab.getByRole('button', { name: 'Model: two' }).waitFor();
    assert.equal(await field.inputValue(), 'What is 100%?');
    assert.equal(new URL(tab.url()).search, '');
    assert.equal(asked.length, 0, 'a link does not ask by itself');
    await field.press('Enter');
    await tab.locator('.answer .turn-foot').waitFor();
    assert.equal(asked.at(-1)?.['model'], 'two');
  });

  await t.test('an answer without reasoning of a model that knows none', async () => {
    assert.equal(await tab.getByRole('alert').count(), 0);
    // The switch, a budget of none, and neither: asked once, and known from then on.
    const wishes = () =>
      asked.map((body) => ['chat_template_kwargs', 'reasoning_budget_tokens'].filter((name) => name in body));
    assert.deepEqual(wishes(), [['chat_template_kwargs'], ['reasoning_budget_tokens'], []]);
    await say('And what is 10%?');
    assert.deepEqual(wishes().slice(3), [[]]);
  });

  await t.test('a conversation that is duplicated up to a message', async () => {
    await tab.locator('.answer').first().getByRole('button', { name: 'Duplicate the conversation' }).click();
    await list.locator('.entry').nth(1).waitFor();
    await tab.locator('.said').nth(1).waitFor({ state: 'detached' });
    assert.deepEqual(await said(), ['What is 100%?']);
    await say('Something else');
    assert.deepEqual(await said(), ['What is 100%?', 'Something else']);
  });

  await t.test('keys for the conversations beside the open one', async () => {
    await tab.keyboard.press('Control+Shift+ArrowDown');
    await tab.locator('.said').getByText('And what is 10%?').waitFor();
    await tab.keyboard.press('Control+Shift+ArrowUp');
    await tab.locator('.said').getByText('Something else').waitFor();
  });

  await t.test('several conversations deleted at once, and back', async () => {
    await list.getByRole('button', { name: 'Delete these' }).click();
    await list.getByRole('button', { name: 'Cancel' }).click();
    await list.getByRole('button', { name: 'Delete these' }).click();
    await list.getByRole('button', { name: 'Delete 2 conversations' }).click();
    await list.getByText('Conversations appear here.').waitFor();
    await tab.getByRole('button', { name: 'Undo' }).click();
    await list.locator('.entry').nth(1).waitFor();
    await tab.locator('.said').getByText('Something else').waitFor();
    await tab.reload();
    await list.locator('.entry').nth(1).waitFor();
  });

  await t.test('models of the server loaded and unloaded, and what it tells of them', async () => {
    await tab.getByRole('button', { name: 'Model: two' }).click();
    const dialog = tab.getByRole('dialog');
    await dialog.getByText('About this model two').click();
    await dialog.getByText(/llama · 2 conversations at a time/).waitFor();
    await dialog.getByText('Chat template').waitFor();
    assert.deepEqual(await accessibilityFaults(tab), []);
    await dialog.getByRole('button', { name: 'Unload two' }).click();
    await dialog.getByRole('button', { name: 'Load two' }).click();
    await dialog.getByRole('button', { name: 'Unload two' }).waitFor();
  });

  await t.test('a model that is not there is said', async () => {
    await tab.goto(`${url}/?model=three`);
    await tab.getByText('is no model of this server; one answers.').waitFor();
  });
});
