import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { pageFiles } from '../../src/node/page-files.ts';
import { accessibilityFaults, liveRegions, namelessControls } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { until } from '../support/hung.ts';
import { listen, tinyServer, tinySource } from '../support/test-server.ts';

const KEY = 'open-sesame';
const SETTINGS = JSON.stringify({ temperature: 0, maxTokens: 4 });
/** More stops than a page of one conversation has. */
const MOST_STOPS = 60;

/** The name of what has the focus, as CSS and screen readers have it. */
const FOCUSED = `(() => {
  const of = document.activeElement;
  if (!of || of === document.body) return 'nothing';
  return (of.getAttribute('aria-label') ?? of.labels?.[0]?.textContent ?? of.textContent ?? '').trim().replace(/\\s+/g, ' ');
})()`;

/** Goes from stop to stop, forth or back, until the focus is on what has a name. */
async function tabTo(page: Page, name: string, key = 'Tab'): Promise<void> {
  const passed: string[] = [];
  while (passed.length < MOST_STOPS) {
    const focused = await page.evaluate<string>(FOCUSED);
    if (focused.startsWith(name)) return;
    passed.push(focused);
    await page.keyboard.press(key);
  }
  assert.fail(`${name} is not reached: ${passed.join(' > ')}`);
}

/** Waits until the focus is on what has a name, which the page does by itself. */
async function focusIs(page: Page, name: string): Promise<void> {
  let focused = '';
  await until(
    () => `the focus is on ${focused}, not on ${name}`,
    async () => {
      focused = await page.evaluate<string>(FOCUSED);
      return focused.startsWith(name);
    },
  );
}

async function isSound(page: Page): Promise<void> {
  assert.deepEqual(await namelessControls(page), []);
  assert.deepEqual(await accessibilityFaults(page), []);
}

for (const viewport of [
  { width: 1280, height: 800 },
  { width: 390, height: 780 },
]) {
  test(`the whole path by keyboard alone, ${viewport.width} wide`, { skip: NO_BROWSER }, async (t) => {
    const models = [tinySource('tiny', { sequences: 4, context: 256 })];
    const page = pageFiles(join(PROJECT_ROOT, 'dist/web'));
    const url = await listen(t, await tinyServer(t, { models, page, keys: [KEY] }));
    await using browser = await TestBrowser.open({ viewport });
    const shown = await browser.page(`${url}/`, `localStorage.setItem('rocmforge settings', '${SETTINGS}')`);
    const { keyboard } = shown;

    await shown.getByLabel('The server asks for a key').waitFor();
    await isSound(shown);
    await tabTo(shown, 'The server asks for a key');
    await keyboard.type(KEY);
    await keyboard.press('Enter');
    await focusIs(shown, 'Message');
    await isSound(shown);

    await keyboard.type('First question');
    await keyboard.press('Enter');
    await shown.locator('.answer .turn-foot').waitFor();
    await shown.getByRole('button', { name: 'Send' }).waitFor();
    await isSound(shown);
    // Answers are read as they come, and what is said in passing.
    const live = await liveRegions(shown);
    assert.ok(
      live.some(({ role }) => role === 'log'),
      JSON.stringify(live),
    );
    assert.ok(
      live.some(({ role }) => role === 'status'),
      JSON.stringify(live),
    );

    await tabTo(shown, 'Edit', 'Shift+Tab');
    await keyboard.press('Enter');
    await focusIs(shown, 'Edited text');
    await isSound(shown);
    await keyboard.press('Escape');
    await shown.getByLabel('Edited text').waitFor({ state: 'detached' });
    await focusIs(shown, 'Message');
    await tabTo(shown, 'Answer again', 'Shift+Tab');
    await keyboard.press('Enter');
    await shown.locator('.answer').getByText('2/2').waitFor();
    await shown.getByRole('button', { name: 'Send' }).waitFor();

    await tabTo(shown, 'Model: tiny', 'Shift+Tab');
    await keyboard.press('Enter');
    const dialog = shown.getByRole('dialog', { name: 'Models' });
    await dialog.waitFor();
    await isSound(shown);
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await focusIs(shown, 'Model: tiny');

    await tabTo(shown, 'Settings');
    await keyboard.press('Enter');
    await shown.getByRole('dialog', { name: 'Settings' }).waitFor();
    await isSound(shown);
    await keyboard.press('Escape');
    await focusIs(shown, 'Settings');

    await keyboard.press('Control+k');
    await focusIs(shown, 'Search conversations');
    await keyboard.type('nowhere');
    await shown.getByText('Nothing was found.').first().waitFor({ state: 'attached' });
    await isSound(shown);
  });
}
