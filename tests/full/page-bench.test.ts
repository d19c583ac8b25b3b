import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageFiles } from '../../src/node/page-files.ts';
import { accessibilityFaults, namelessControls } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { Site } from '../support/browser/site.ts';
import { sha256Of } from '../support/hub/hub-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');

test('a server has it at an address that is easily typed', async () => {
  const files = pageFiles(PAGE);
  const response = await files?.(new Request('http://server/bench'));
  assert.deepEqual([response?.status, response?.headers.get('location')], [302, './bench.html']);
  const page = await files?.(new Request('http://server/bench.html'));
  assert.match(
    page?.headers.get('content-security-policy') ?? '',
    /trusted-types default.*frame-ancestors 'none'/,
  );
});

test(
  'a benchmark measures both devices, compares them, and its link shows the result',
  { skip: NO_BROWSER },
  async () => {
    await using site = await Site.open(PAGE);
    const tiny = await tinyBytes('F32');
    const model = {
      file: 'tiny.gguf',
      title: 'Tiny',
      about: '',
      license: '',
      bytes: tiny.length,
      sha256: sha256Of(tiny),
    };
    site.files.set('/models/models.json', new TextEncoder().encode(JSON.stringify([model])));
    site.files.set('/models/tiny.gguf', tiny);
    await using browser = await TestBrowser.open({ viewport: { width: 390, height: 780 } });
    const page = await browser.page(`${site.url}/bench.html`);
    const button = (name: string) => page.getByRole('button', { name });
    await page.getByRole('option', { name: 'Tiny' }).waitFor({ state: 'attached' });
    await page.getByLabel('Tokens of the prompt (pp)').fill('8');
    await page.getByLabel('Generated tokens (tg)').fill('4');
    await page.getByLabel('Repetitions').fill('1');
    // The only graphics card here is software, which is measured if it is asked for.
    await page.getByLabel(/^GPU \(WebGPU\)/).check();
    assert.deepEqual(await accessibilityFaults(page), []);
    assert.deepEqual(await namelessControls(page), []);
    await button('Measure').click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    const rows = await page.locator('tbody tr').allInnerTexts();
    const tests = rows.map((row) => row.split('\t').filter((_, at) => at === 2 || at === 4));
    assert.deepEqual(tests, [
      ['cpu', 'pp8'],
      ['cpu', 'tg4'],
      ['webgpu', 'pp8'],
      ['webgpu', 'tg4'],
    ]);
    for (const row of rows) assert.match(row, /\t\d+\.\d\d ± 0\.00$/);
    await page.getByText('CPU and WebGPU agree on the first 32 of 32 tokens').waitFor();
    await page.getByText(/^Memory: [\d.]+ MB by the engine’s plan/).waitFor();
    assert.deepEqual(await accessibilityFaults(page), []);
    const link = await page.getByLabel('Link to this result').inputValue();
    const other = await browser.page(link);
    await other.getByRole('heading', { name: 'A shared result' }).waitFor();
    assert.deepEqual(await other.locator('tbody tr').allInnerTexts(), rows);
    const broken = await browser.page(`${link.slice(0, -20)}`);
    await broken.getByRole('alert').getByText('This link holds no result').waitFor();
    assert.deepEqual(await accessibilityFaults(broken), []);
  },
);
