import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { Site } from '../support/browser/site.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes } from '../support/tiny-model.ts';
import { tinyThinker } from '../support/tiny-thinker.ts';
import { until } from '../support/hung.ts';

const MODEL = 'models/minimind2-small-q4_k_m.gguf';
const PHONE = { width: 390, height: 780 };
const tiny = await tinyBytes('F32');
/** Of an answer with its reasoning. */
const TOKENS = 12;

/** The first answer is always the same, one without Markdown, which is heard as it is written and seen otherwise. */
const PLAIN_ANSWER = `localStorage.getItem('rocmforge settings') ?? localStorage.setItem('rocmforge settings', '{ "seed": 1 }')`;

describe('the page in Chromium', { skip: NO_BROWSER, concurrency: 1 }, () => {
  let site: Site;
  let browser: TestBrowser;
  let page: Page;
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const message = () => page.getByRole('textbox', { name: 'Message' });
  const answers = () => page.getByRole('list', { name: 'Conversation' }).locator('.answer');

  before(async () => {
    site = await Site.open(join(PROJECT_ROOT, 'dist/web'));
    site.files.set(`/${MODEL}`, readFileSync(join(PROJECT_ROOT, MODEL)));
    browser = await TestBrowser.open({ viewport: PHONE });
    page = await browser.page(`${site.url}/`, PLAIN_ANSWER);
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
  });

  test('loads the model beside it by keyboard alone, and says how far it is', async () => {
    await button('Load MiniMind2 Small').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    site.behaviour.stallAfter = 7_000_000;
    for (let stop = 0; stop < 3; stop++) await page.keyboard.press('Tab');
    assert.match(await focused(page), /Load MiniMind2 Small/);
    await page.keyboard.press('Enter');
    const bar = page.getByRole('progressbar', { name: 'Loading MiniMind2 Small' });
    await page.locator('[role=progressbar][aria-valuenow="39"]').waitFor();
    assert.match((await bar.getAttribute('aria-valuetext')) ?? '', /Downloading: \d.* of 17\.5 MB/);
    assert.equal(await focused(page), 'Cancel');
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.keyboard.press('Enter');
    await button('Load MiniMind2 Small').waitFor();
    site.resume();
    await button('Load MiniMind2 Small').click();
    await message().waitFor();
    assert.match(site.requests.at(-1) ?? '', /bytes=[1-9]/);
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  test('answers, with Enter to send and Shift+Enter for a line, and tells screen readers', async () => {
    await page.keyboard.type('What is the');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('capital of France?');
    assert.equal(await message().inputValue(), 'What is the\ncapital of France?');
    await page.keyboard.press('Enter');
    await button('Copy the answer').waitFor();
    const text = (await answers().locator('.text').innerText()).trim();
    assert.match(text, /\w/);
    const facts = await answers().locator('.numbers').innerText();
    assert.match(facts, /^\d+ tokens?( · [\d.]+ tokens\/s)? · first after [\d.]+ s · MiniMind2 Small$/);
    const spoken = text.replaceAll(/\s+/g, ' ');
    // The last sentence is said once the answer has been drawn.
    await page.getByRole('log').filter({ hasText: spoken }).waitFor({ state: 'attached' });
    const said = (await page.getByRole('log').innerText()).replaceAll(/\s+/g, ' ').trim();
    assert.equal(said, spoken);
    assert.equal(await message().inputValue(), '');
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  test('settings are used, and kept, and so is the model', async () => {
    await button('Settings').click();
    const dialog = page.getByRole('dialog', { name: 'Settings' });
    await dialog.getByLabel('Temperature').fill('0');
    await dialog.getByLabel('Most tokens of an answer').fill('5');
    await dialog.getByLabel('System prompt').fill('You are a pirate.');
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await button('New conversation').click();
    await button('Write a short poem.').click();
    await answers()
      .getByText(/5 tokens/)
      .waitFor();
    await page.reload();
    await button('Model: MiniMind2 Small').waitFor();
    await button('Settings').click();
    assert.equal(await dialog.getByLabel('Temperature').inputValue(), '0');
    assert.equal(await dialog.getByLabel('System prompt').inputValue(), 'You are a pirate.');
    await dialog.getByRole('button', { name: 'Reset' }).click();
    await dialog.locator('textarea:placeholder-shown').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  test('Escape and the button stop an answer, which stays as it is', async () => {
    await button('New conversation').click();
    // What the model repeats without an end, where it may.
    await button('Settings').click();
    const dialog = page.getByRole('dialog', { name: 'Settings' });
    await dialog.getByLabel('Temperature').fill('0');
    await dialog.getByLabel('Repetition penalty').fill('1');
    await dialog.getByLabel('Most tokens of an answer').fill('4000');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // Each in a conversation of its own: what the model says to the first message has no end.
    for (const stop of [() => page.keyboard.press('Escape'), () => button('Stop').click()]) {
      await message().fill('Tell me a very long story about a ship.');
      await page.keyboard.press('Enter');
      await answers().locator('.text').waitFor();
      await stop();
      await answers().getByText('Stopped').waitFor();
      assert.equal(await answers().count(), 1);
      await button('New conversation').click();
      await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    }
  });

  test('a dropped file that is no model leaves everything as it is, and goes with the next message', async () => {
    await message().fill('Tell me a very long story about a ship.');
    await page.keyboard.press('Enter');
    await answers().locator('.text').waitFor();
    await page.keyboard.press('Escape');
    await answers().getByText('Stopped').waitFor();
    await dropFile(page, 'notes.txt', new TextEncoder().encode('Some notes'));
    const files = page.getByRole('list', { name: 'Attached files' });
    await files.getByText('notes.txt').waitFor();
    await dropFile(page, 'noise.bin', new Uint8Array(100));
    await page.getByText('No text can be read from this kind of file.').waitFor();
    await button('Dismiss').click();
    assert.equal(await answers().count(), 1);
    await button('Model: MiniMind2 Small').waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await button('Remove notes.txt').click();
    await files.waitFor({ state: 'detached' });
    await button('New conversation').click();
  });

  test('a dropped file is loaded and kept, shown with its size, and deleted', async () => {
    await dropFile(page, 'dropped.gguf', tiny);
    await message().waitFor();
    await button('Model: dropped.gguf').click();
    const dialog = page.getByRole('dialog', { name: 'Models' });
    await dialog.getByText(/^\d+ kB · used/).waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    await dialog.getByRole('button', { name: 'Delete dropped.gguf from this browser' }).click();
    await dialog.getByRole('alert').getByText('is in use').waitFor();
    await dialog.getByRole('button', { name: 'Load MiniMind2 Small' }).click();
    await button('Model: MiniMind2 Small').click();
    await dialog.getByRole('button', { name: 'Delete dropped.gguf from this browser' }).click();
    await dialog.getByText('dropped.gguf').first().waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
  });

  test('a file that is dropped again while it loads is loaded, whatever it is called', async () => {
    await dropFile(page, '100% tiny.gguf', tiny, 2);
    await button('Model: 100% tiny.gguf').waitFor();
    await message().waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('what a model thinks is folded away from its answer', async () => {
    const question = 'Hi';
    const { bytes, reasoning, text } = await tinyThinker(question, TOKENS);
    const kept = JSON.stringify({ temperature: 0, repeatPenalty: 1, maxTokens: TOKENS, context: 128 });
    const alone = await browser.page(`${site.url}/`, `localStorage.setItem('rocmforge settings', '${kept}')`);
    await dropFile(alone, 'thinker.gguf', bytes);
    await alone.getByRole('textbox', { name: 'Message' }).fill(question);
    await alone.keyboard.press('Enter');
    const answer = alone.getByRole('list', { name: 'Conversation' }).locator('.answer');
    const thoughts = answer.locator('details');
    await thoughts.waitFor();
    await alone.getByRole('button', { name: 'Copy the answer' }).waitFor();
    assert.match(await thoughts.locator('summary').innerText(), /^Thoughts · [\d.]+ s$/);
    assert.equal(await thoughts.locator('p').isVisible(), false);
    assert.equal(await answer.locator('.text').innerText(), text);
    await thoughts.locator('summary').press('Enter');
    assert.equal(await thoughts.locator('p').innerText(), reasoning);
    assert.deepEqual(await accessibilityFaults(alone), []);
    // Screen readers hear the answer alone.
    assert.equal(await alone.getByRole('log').innerText(), text);
    await alone.close();
  });

  test('what cannot be loaded is said', async () => {
    await page.reload();
    await button('Model: thinker.gguf').click();
    await page.getByLabel('A GGUF file’s address').fill(`${site.url}/absent.gguf`);
    await page.keyboard.press('Enter');
    const alert = page.getByRole('alert');
    await alert.getByText('absent.gguf was not loaded').waitFor();
    assert.match(await alert.innerText(), /status 404[^]*Check the address/);
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  test('where its server does not isolate it and there is no GPU, it isolates itself', async () => {
    await using plain = await Site.open(join(PROJECT_ROOT, 'dist/web'), { isolated: false });
    const alone = await browser.page(`${plain.url}/`, 'GPU.prototype.requestAdapter = async () => null');
    await eventually(() => alone.evaluate('crossOriginIsolated'));
    await alone.getByRole('button', { name: 'Load MiniMind2 Small' }).waitFor();
    await dropFile(alone, 'alone.gguf', tiny);
    await alone.getByRole('textbox', { name: 'Message' }).waitFor();
    await alone.close();
  });

  test('without its server it opens, loads what is kept and answers', async () => {
    await site[Symbol.asyncDispose]();
    await page.reload();
    await button('Model: thinker.gguf').click();
    await button('Load MiniMind2 Small').click();
    await button('Model: MiniMind2 Small').waitFor();
    await message().fill('Hi');
    await page.keyboard.press('Enter');
    await answers().locator('.text').waitFor();
    await page.keyboard.press('Escape');
    await button('Copy the answer').waitFor();
    assert.match(await answers().locator('.text').innerText(), /\w/);
  });
});

/** Asks again until the answer is true; a page that is just being loaded has none. */
function eventually(ask: () => Promise<unknown>): Promise<void> {
  return until(
    () => 'it never came',
    async () => Boolean(await ask().catch(() => false)),
  );
}

/** The accessible text of what has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate(`document.activeElement?.textContent?.trim() ?? ''`);
}

/** Drops a file on the page, as a user would from a folder, once or `times` in a row. */
async function dropFile(page: Page, name: string, bytes: Uint8Array, times = 1): Promise<void> {
  const given = JSON.stringify({ name, times, base64: Buffer.from(bytes).toString('base64') });
  await page.evaluate(`(async ({ name, times, base64 }) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name));
    for (const type of Array.from({ length: times }, () => ['dragover', 'drop']).flat()) {
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
  })(${given})`);
}
