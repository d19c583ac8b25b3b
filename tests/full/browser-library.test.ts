import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { bundleLibrary } from '../support/browser/library.ts';
import { Site } from '../support/browser/site.ts';
import { compileStrictly, examplesOf } from '../support/guide-examples.ts';
import { unpackProject } from '../support/packed-project.ts';
import { BUNDLED } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const EXAMPLES = examplesOf('docs/browser.md', 'ts');

/** Where the guide's model is. */
const NAMED = 'https://example.com/model.gguf';

/** A page whose module is a program that imports the library by its name; when it has ended, or failed, the title says so. */
function pageOf(program: string): string {
  const imports = JSON.stringify({ imports: { 'rocmforge/browser': './browser/index.js' } });
  return `<!doctype html><body></body><script type="importmap">${imports}</script>
<script>addEventListener('error', ({ message }) => (document.title = message));
addEventListener('unhandledrejection', ({ reason }) => (document.title = String(reason)));</script>
<script type="module">${program}
document.title = 'ended';</script>`;
}

describe('the examples of the guide to pages', { skip: NO_BROWSER, concurrency: 1 }, () => {
  const folder = temporaryFolder({ after });
  let site: Site;
  let browser: TestBrowser;

  before(async () => {
    await unpackProject(folder);
    const files = EXAMPLES.map((example, i) => {
      const file = join(folder, `example${i}.mts`);
      writeFileSync(file, example);
      return file;
    });
    await compileStrictly(...files);
    await bundleLibrary(folder, join(folder, 'node_modules/rocmforge/dist/src'));
    site = await Site.open(folder);
    site.files.set('/model.gguf', readFileSync(BUNDLED));
    browser = await TestBrowser.open();
  });

  after(async () => {
    await browser[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
  });

  /** What an example writes to the console, and what its page shows then. */
  async function run(example: number): Promise<{ lines: string[]; shown: string }> {
    const program = readFileSync(join(folder, `example${example}.mjs`), 'utf8');
    writeFileSync(join(folder, 'page.html'), pageOf(program.replace(NAMED, `${site.url}/model.gguf`)));
    const page = await browser.page('about:blank');
    const lines: string[] = [];
    page.on('console', (message) => lines.push(message.text()));
    await page.goto(`${site.url}/page.html`);
    await page.waitForFunction("document.title !== ''");
    assert.equal(await page.title(), 'ended');
    const shown = await page.locator('body').innerText();
    await page.close();
    return { lines, shown };
  }

  test('compile strictly, and there are two', () => assert.equal(EXAMPLES.length, 2));

  test('a model is downloaded, answers, and is kept', async () => {
    const { lines, shown } = await run(0);
    assert.match(shown, /\S/);
    assert.ok(
      lines.some((line) => /^\w+ \d+ \d+$/.test(line)),
      lines.join('\n'),
    );
    assert.match(lines.at(-1) ?? '', /^model\.gguf 17506144 [\da-f]{64}$/);
  });

  test('from another origin, isolated or not, a model answers', async () => {
    const pages = join(folder, 'pages');
    mkdirSync(pages);
    await using network = await Site.open(folder, { isolated: false, isPublic: true });
    const program = `import { loadModel } from '${network.url}/browser/index.js';
const model = await loadModel('/tiny.gguf', { device: 'cpu', context: 32 });
console.log(await model.generate([1, 40], { temperature: 0, maxTokens: 4, ignoreEnd: true }).text(), crossOriginIsolated);
await model.dispose();`;
    writeFileSync(join(pages, 'index.html'), pageOf(program));
    const said: string[] = [];
    for (const isolated of [false, true]) {
      await using own = await Site.open(pages, { isolated });
      own.files.set('/tiny.gguf', await tinyBytes('Q8_0'));
      const page = await browser.page('about:blank');
      page.on('console', (message) => said.push(message.text()));
      await page.goto(`${own.url}/`);
      await page.waitForFunction("document.title !== ''");
      assert.equal(await page.title(), 'ended');
      await page.close();
    }
    const [alone = '', together = ''] = said;
    assert.match(alone, /\S.* false$/s);
    assert.equal(together, alone.replace(/false$/, 'true'));
  });

  test('the page says what the browser can do', async () => {
    const { lines } = await run(1);
    assert.match(lines[0] ?? '', /^on the CPU: the only adapter is software$/);
    assert.match(lines[1] ?? '', /^\d+$/);
  });
});
