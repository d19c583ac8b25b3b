import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { type SaidRequest, SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');

test('what a person sets is what the model is asked with', { skip: NO_BROWSER }, async (t) => {
  const requests: SaidRequest[] = [];
  await using server = await SaidServer.open(PAGE, async function* (request) {
    requests.push(request);
    yield { content: 'It is **so**.' };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 900 } });
  const page = await browser.page(`${server.url}/`);
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(server.url)) elsewhere.push(request.url());
  });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const list = page.getByRole('navigation', { name: 'Conversations' });
  const settings = page.getByRole('dialog', { name: 'Settings' });
  const openSettings = async () => {
    await button('Settings').click();
    await settings.waitFor();
  };
  const close = async () => {
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const say = async (text: string) => {
    const before = await page.locator('.answer .turn-foot').count();
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').nth(before).waitFor();
    await button('Send').waitFor();
  };

  await t.test('system prompts are kept as presets, for all conversations and for one', async () => {
    await openSettings();
    await settings.getByLabel('System prompt').fill('Speak like a pirate.');
    await settings.getByText('Presets').click();
    await settings.getByLabel('Name of a preset').fill('Pirate');
    await page.keyboard.press('Enter');
    await settings.getByLabel('System prompt').fill('');
    await settings.getByLabel('Presets').selectOption('Pirate');
    assert.equal(await settings.getByLabel('System prompt').inputValue(), 'Speak like a pirate.');
    await settings.getByLabel('System prompt').fill('Be brief.');
    assert.deepEqual(await accessibilityFaults(page), []);
    await close();
    await say('One');
    assert.deepEqual(requests.at(-1)?.messages[0], { role: 'system', content: 'Be brief.' });
    await page.keyboard.press('Control+Shift+E');
    await page.getByText('Presets').click();
    await page.getByLabel('Presets', { exact: true }).selectOption('Pirate');
    assert.deepEqual(await accessibilityFaults(page), []);
    await button('Delete the preset').click();
    await page.getByLabel('Presets', { exact: true }).waitFor({ state: 'detached' });
    await close();
    await say('Two');
    assert.deepEqual(requests.at(-1)?.messages[0], { role: 'system', content: 'Speak like a pirate.' });
  });

  await t.test('reasoning, and fields that no setting has', async () => {
    assert.equal(requests.at(-1)?.['chat_template_kwargs'], undefined);
    await openSettings();
    await settings.getByLabel('Reasoning').selectOption('no');
    await settings.getByText('More about sampling').click();
    await settings.getByLabel('Further fields of requests to the server').fill('{"stop": ["END"]');
    await settings.getByRole('alert').getByText('This is no JSON object').waitFor();
    await settings.getByLabel('Further fields of requests to the server').fill('{"stop": ["END"]}');
    await settings.getByRole('alert').waitFor({ state: 'detached' });
    await close();
    await say('Three');
    assert.deepEqual(requests.at(-1)?.['chat_template_kwargs'], { enable_thinking: false });
    assert.deepEqual(requests.at(-1)?.['stop'], ['END']);
  });

  await t.test('answers are shown as the model wrote them', async () => {
    const last = page.locator('.answer').last();
    await last.getByRole('button', { name: 'Show as the model wrote it' }).click();
    await last.getByText('It is **so**.', { exact: true }).waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await last.getByRole('button', { name: 'Show formatted' }).click();
    await last.locator('strong').getByText('so').waitFor();
  });

  await t.test('a long text that is pasted is a file', async () => {
    const paste = (length: number) =>
      page.evaluate(`(() => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', 'x'.repeat(${length}));
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
        return document.getElementById('message').dispatchEvent(event);
      })()`);
    assert.equal(await paste(2500), true, 'the browser pastes it');
    assert.equal(await paste(2501), false);
    const files = page.getByRole('list', { name: 'Attached files' });
    await files.getByText('pasted.txt').waitFor();
    await button('Remove pasted.txt').click();
    await openSettings();
    await settings.getByLabel('Characters from which pasted text becomes a file').fill('0');
    await close();
    await page.reload();
    await button('Model: text').waitFor();
    assert.equal(await paste(10_000), true);
  });

  await t.test('conversations are pinned, and duplicated with all that was said', async () => {
    await button('New conversation').click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    await say('Last');
    const titles = () => list.locator('.entry-title > span').allInnerTexts();
    assert.deepEqual(await titles(), ['Last', 'One']);
    await list.getByRole('button', { name: 'Rename, export or delete One' }).click();
    await page.getByLabel('Keep at the top of the list').check();
    await close();
    assert.deepEqual(await titles(), ['One', 'Last']);
    await list.getByText('pinned').waitFor();
    await page.reload();
    await button('Model: text').waitFor();
    assert.deepEqual(await titles(), ['One', 'Last']);
    await list.getByRole('button', { name: 'Rename, export or delete One' }).click();
    await button('Duplicate').click();
    await list.getByText('One').nth(1).waitFor();
    await page.locator('.said').getByText('Three').waitFor();
    assert.deepEqual(await titles(), ['One', 'One', 'Last']);
  });

  await t.test('without asking anybody but the page’s own server', () => {
    assert.deepEqual(elsewhere, []);
  });
});
