import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityFaults, namelessControls } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { Site } from '../support/browser/site.ts';
import { type HubServer, sha256Of, startHub } from '../support/hub/hub-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const REPO = 'maker/Tiny-Model-GGUF';
const FILE = 'Tiny-Model-Q4_K_M.gguf';
const tiny = await tinyBytes('F32');

/** The page beside no model, with a hub that is not Hugging Face. */
async function shelf(t: TestContext): Promise<{ page: Page; hub: HubServer }> {
  const files = { [FILE]: tiny, 'Tiny-Model-Q8_0.gguf': await tinyBytes('Q8_0') };
  const hub = await startHub(t, { [REPO]: files, 'other/Big-GGUF': files });
  const site = await Site.open(join(PROJECT_ROOT, 'dist/web'));
  t.after(() => site[Symbol.asyncDispose]());
  const browser = await TestBrowser.open({ viewport: { width: 390, height: 780 } });
  t.after(() => browser[Symbol.asyncDispose]());
  const settings = JSON.stringify({
    device: 'cpu',
    hub: hub.url,
    temperature: 0,
    maxTokens: 20,
    context: 64,
  });
  const first = `localStorage.getItem('rocmforge settings') ?? localStorage.setItem('rocmforge settings', '${settings}')`;
  return { page: await browser.page(`${site.url}/`, first), hub };
}

test(
  'models of the hub are looked for after a click, and loaded by their hash',
  { skip: NO_BROWSER },
  async (t) => {
    const { page, hub } = await shelf(t);
    const button = (name: string | RegExp) => page.getByRole('button', { name });
    const model = `Load ${FILE}`;

    await t.test('nothing is asked before', async () => {
      await button('Models of Hugging Face').click();
      const shown = page.getByRole('region', { name: 'Models of Hugging Face' });
      await shown
        .getByText(/billion weights/)
        .first()
        .waitFor();
      assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(await namelessControls(page), []);
      assert.equal(hub.asked.length, 0);
    });

    await t.test('by words: repositories with licence, their files with size, memory and hash', async () => {
      await page.getByRole('searchbox').fill('tiny');
      await page.keyboard.press('Enter');
      await page.getByText('1 repository found').waitFor();
      await page.getByText(/^mit · 1,234 downloads$/).waitFor();
      await button(`Show files ${REPO}`).press('Enter');
      await page.getByText(/^Q4_K_M · .* · the usual choice$/).waitFor();
      await page.getByText(`SHA-256 ${sha256Of(tiny)}`).waitFor();
      // The button that was pressed is gone; what it asked for is next.
      assert.match(await page.evaluate(`document.activeElement.textContent`), /Load/);
      assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(await namelessControls(page), []);
    });

    await t.test('paused and gone on with, without asking for what is there', async () => {
      hub.behaviour.stalls = { after: 100_000, count: 1 };
      await button(model).click();
      await page.getByText('Downloading').waitFor();
      await button('Pause').click();
      await page.getByText('Paused: what has arrived is kept').waitFor();
      assert.deepEqual(await accessibilityFaults(page), []);
      await button('Resume').click();
      await button(`Model: ${FILE}`).waitFor();
      const ranges = hub.asked.flatMap(({ at, range }) => (at === 'storage' ? [range] : []));
      assert.match(ranges.at(-1) ?? '', /^bytes=[1-9]/);
    });

    await t.test('kept with its hash, with a guess of its speed once it has answered', async () => {
      await page.getByRole('textbox', { name: 'Message' }).fill('Hi');
      await page.keyboard.press('Enter');
      await button('Copy the answer').waitFor();
      await button(`Model: ${FILE}`).click();
      const dialog = page.getByRole('dialog', { name: 'Models' });
      await dialog.getByText(`SHA-256 ${sha256Of(tiny)}`).waitFor();
      await dialog.getByRole('button', { name: 'Models of Hugging Face' }).click();
      await dialog
        .getByText(/tokens\/s here \(a guess\)/)
        .first()
        .waitFor();
      await page.keyboard.press('Escape');
    });
  },
);

test('a hub that is not there is said', { skip: NO_BROWSER }, async (t) => {
  const { page } = await shelf(t);
  await page.evaluate(`localStorage.setItem('rocmforge settings', '{ "hub": "http://127.0.0.1:9" }')`);
  await page.reload();
  await page.getByRole('button', { name: 'Models of Hugging Face' }).click();
  await page.getByRole('searchbox').fill('tiny');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('127.0.0.1:9 cannot be reached.').waitFor();
  assert.deepEqual(await accessibilityFaults(page), []);
});
