import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';

/** Names that are the same in both languages. */
const SAME = new Set([
  'composer.server',
  'mcp.headerPlaceholder',
  'setting.topP',
  'setting.topK',
  'setting.minP',
  'setting.typicalP',
  'setting.topNSigma',
]);

/** What is wrong with the second language beside the first; runs in the page. */
const COMPARE = `((same) => {
  const { ENGLISH, GERMAN } = languages;
  const faults = [];
  const walk = (one, other, path) => {
    if (typeof one !== typeof other) return faults.push(path + ' is of another kind');
    if (typeof one === 'function') {
      if (one.length !== other.length) faults.push(path + ' takes other values');
    } else if (typeof one === 'string') {
      if (other.trim() === '') faults.push(path + ' is empty');
      if ((one === other) !== same.includes(path)) faults.push(path + ' is not translated');
    } else {
      const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
      for (const key of keys) walk(one[key], other[key], path === '' ? key : path + '.' + key);
    }
  };
  walk(ENGLISH, GERMAN, '');
  const said = ({ turn, conversation }) => [turn.tokens(1), turn.tokens(2000), turn.speed(12.34), turn.first(1), conversation.leftOut(1), conversation.leftOut(3)];
  return { faults, said: [said(ENGLISH), said(GERMAN)] };
})`;

test('the page is in the browser’s language, or in the chosen one', { skip: NO_BROWSER }, async (t) => {
  await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), async function* () {
    yield { content: 'Guten Tag' };
  });
  await using browser = await TestBrowser.open({ locale: 'de-AT', viewport: { width: 1280, height: 900 } });

  await t.test('each language says all that the other says, with its own numbers', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { ENGLISH } from './texts.ts'; import { GERMAN } from './german.ts'; globalThis.languages = { ENGLISH, GERMAN };`,
        resolveDir: join(PROJECT_ROOT, 'web'),
      },
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2022',
    });
    const page = await browser.page('data:text/html,<!doctype html><title>Languages</title>');
    await page.addScriptTag({ type: 'module', content: outputFiles[0]?.text ?? '' });
    await page.waitForFunction('globalThis.languages');
    assert.deepEqual(await page.evaluate(`${COMPARE}(${JSON.stringify([...SAME])})`), {
      faults: [],
      said: [
        [
          '1 token',
          '2000 tokens',
          '12.3 tokens/s',
          'first after 1.0 s',
          'The oldest message is left out of what the model reads: its context is full.',
          'The oldest 3 messages are left out of what the model reads: its context is full.',
        ],
        [
          '1 Token',
          '2000 Tokens',
          '12,3 Tokens/s',
          'erstes nach 1,0 s',
          'Die älteste Nachricht fehlt in dem, was das Modell liest: Sein Kontext ist voll.',
          'Die ältesten 3 Nachrichten fehlen in dem, was das Modell liest: Sein Kontext ist voll.',
        ],
      ],
    });
  });

  await t.test('a German browser’s page is German, and English when that is chosen', async () => {
    const page = await browser.page(`${server.url}/`);
    await page.getByRole('heading', { name: 'Worum geht es?' }).waitFor();
    await page.getByRole('textbox', { name: 'Nachricht' }).fill('Hallo');
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').getByText('1 Token ·').waitFor();
    await page.getByRole('button', { name: 'Einstellungen' }).click();
    assert.equal(await page.evaluate('document.documentElement.lang'), 'de');
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('English');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('combobox', { name: 'Language' }).selectOption('As the browser');
    await page.getByRole('button', { name: 'Einstellungen' }).waitFor();
  });
});
