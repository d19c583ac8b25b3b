import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { AXE_FAULTS } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { until } from '../support/hung.ts';
import { type SaidDelta, SaidServer } from '../support/browser/said-server.ts';
import { WebDriver, whyNot } from '../support/browser/webdriver.ts';
import { PROJECT_ROOT } from '../support/project.ts';

// Every view of the page in each browser, large and small, light and dark, without a finding of axe. Pictures for people to look at go to
// the folder in ROCMFORGE_TEST_PICTURES.

const PICTURES = process.env['ROCMFORGE_TEST_PICTURES'];
const SIZES = { desktop: [1280, 800], phone: [390, 780] } as const;
/** Every kind of block, and what is wider than a phone. */
const RICH = String.raw`# A title

A **bold** word, *another*, ~~none~~, ${'`code`'}, [a link](https://example.com/a), and averyveryverylongwordthatdoesnotfitintothewidthofaphonebyfarandgoesonandon.

- [x] done
- [ ] open

1. one
2. two
   - inner

| Language | Year | What it is |
|---|--:|:-:|
| TypeScript | 2012 | JavaScript with types |
| Fortran | 1957 | the first one that was compiled |

> A quote.

${'```'}ts
/** Adds. */
export function add(a: number, b = 'a long line that has to be scrolled to be read, on phones at any rate'): number {
  return a + 1; // why not
}
${'```'}

The sum \(\sum_{i=1}^n i\) is
\[ \frac{n (n + 1)}{2} \]

مرحبا بالعالم 😀

${'```'}svg
<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40"><circle cx="20" cy="20" r="15"/></svg>
${'```'}
`;

async function* say(question: string, cut: () => void): AsyncGenerator<SaidDelta> {
  if (question === 'Fail') {
    yield { content: 'What was said until then.' };
    cut();
    return;
  }
  if (question === 'Call') {
    const call = { name: 'run_javascript', arguments: JSON.stringify({ code: 'return 6 * 7;' }) };
    yield { tool_calls: [{ index: 0, id: 'call', type: 'function', function: call }] };
    return;
  }
  yield { reasoning_content: 'First I think.\n\nThen I answer.' };
  yield { content: RICH };
}

/** What all browsers can be told. */
interface Viewer {
  goto(url: string): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  value<T>(expression: string, ...args: readonly unknown[]): Promise<T>;
  shown(expression: string, ...args: readonly unknown[]): Promise<unknown>;
  picture(path: string): Promise<void>;
}

class ChromiumViewer implements Viewer {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async goto(url: string): Promise<void> {
    await this.#page.goto(url);
  }

  resize(width: number, height: number): Promise<void> {
    return this.#page.setViewportSize({ width, height });
  }

  value<T>(expression: string, ...args: readonly unknown[]): Promise<T> {
    return this.#page.evaluate<T>(`(async (args) => (${expression}))(${JSON.stringify(args)})`);
  }

  async shown(expression: string, ...args: readonly unknown[]): Promise<unknown> {
    await until(
      () => `never came: ${expression}`,
      () => this.value<boolean>(`Boolean(${expression})`, ...args),
    );
    return true;
  }

  async picture(path: string): Promise<void> {
    await this.#page.screenshot({ path });
  }
}

const NAMED = `[...document.querySelectorAll('button, summary, input[type=search]')].filter((of) => of.checkVisibility()).findLast((of) => (of.getAttribute('aria-label') ?? of.textContent).trim().startsWith(args[0]))`;

async function press(viewer: Viewer, name: string): Promise<void> {
  await viewer.shown(NAMED, name);
  await viewer.value(`${NAMED}.click()`, name);
}

/** Opens a dialog by the button of this name. */
async function dialog(viewer: Viewer, name: string, kind: string): Promise<void> {
  await press(viewer, name);
  await viewer.shown(`document.querySelector('dialog.' + args[0])?.open`, kind);
}

/** Sends a message, and waits until what is asked for is there. */
async function ask(viewer: Viewer, text: string, there: string): Promise<void> {
  await viewer.shown(`document.querySelector('#message')`);
  await viewer.value(
    `(document.querySelector('#message').value = args[0], document.querySelector('#message').dispatchEvent(new Event('input', { bubbles: true })))`,
    text,
  );
  await viewer.shown(`document.querySelector('.send')?.disabled === false`);
  await viewer.value(`document.querySelector('.send').click()`);
  await viewer.shown(there);
}

/** The conversation that is looked at, and the views of the page: what opens each, and what shows that it is there. */
async function filled(viewer: Viewer): Promise<void> {
  await ask(viewer, 'Rich', `document.querySelector('.answer .turn-foot')`);
  await ask(viewer, 'Fail', `document.querySelector('[role=alert]')`);
  await ask(viewer, 'Call', `document.querySelector('.call button')`);
}

const CLOSE = `document.querySelector('dialog')?.close()`;
const VIEWS: readonly (readonly [name: string, open: (viewer: Viewer) => Promise<unknown>])[] = [
  ['top', (viewer) => viewer.value(`scrollTo(0, 0)`)],
  ['middle', (viewer) => viewer.value(`document.querySelector('.table').scrollIntoView()`)],
  ['end', (viewer) => viewer.value(`scrollTo(0, document.documentElement.scrollHeight)`)],
  ['models', (viewer) => dialog(viewer, 'Model: ', 'models')],
  ['settings', (viewer) => dialog(viewer, 'Settings', 'settings')],
  [
    'conversation',
    async (viewer) => {
      if (await viewer.value(`!document.querySelector('aside').checkVisibility()`))
        await dialog(viewer, 'Conversations', 'conversations');
      await dialog(viewer, 'Rename, export or delete', 'conversation');
    },
  ],
];

/** Looks at a view, and at what axe finds there. */
async function look(viewer: Viewer, name: string): Promise<void> {
  await viewer.value(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`);
  // Dialogs come in gently.
  await viewer.shown(
    `document.getAnimations().every((of) => of.playState !== 'running' || of.effect?.getTiming().iterations === Infinity)`,
  );
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true });
    await viewer.picture(join(PICTURES, `${name}.png`));
  }
  assert.deepEqual(await viewer.value(AXE_FAULTS), [], name);
  const tooWide = await viewer.value<boolean>(
    `document.documentElement.scrollWidth > document.documentElement.clientWidth`,
  );
  assert.equal(tooWide, false, `${name} is wider than the window`);
}

async function lookAtAll(t: TestContext, viewer: Viewer, browser: string): Promise<void> {
  await using server = await SaidServer.open(join(PROJECT_ROOT, 'dist/web'), ({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user');
    return say(String(asked?.['content']), () => server.cut());
  });
  const settings = (theme: string) => JSON.stringify({ javascript: true, titles: 'words', theme });
  const keep = `localStorage.setItem('rocmforge settings', args[0])`;
  await viewer.goto(`${server.url}/`);
  await viewer.value(keep, settings('light'));
  await viewer.goto(`${server.url}/`);
  await viewer.resize(...SIZES.desktop);
  await filled(viewer);
  for (const theme of ['light', 'dark']) {
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      await t.test(`${size}, ${theme}`, async () => {
        await viewer.value(keep, settings(theme));
        await viewer.resize(width, height);
        await viewer.goto(`${server.url}/`);
        await viewer.shown(`document.querySelector('.greeting')`);
        await look(viewer, `${browser}-${size}-${theme}-first`);
        if (size === 'phone') await dialog(viewer, 'Conversations', 'conversations');
        await viewer.shown(`document.querySelector(args[0])`, '.entry-title');
        if (size === 'phone') await look(viewer, `${browser}-${size}-${theme}-list`);
        await viewer.value(
          `[...document.querySelectorAll('.entry-title')].find((of) => of.checkVisibility()).click()`,
        );
        await viewer.shown(`document.querySelector('.typeset math')`);
        for (const [view, open] of VIEWS) {
          await open(viewer);
          await look(viewer, `${browser}-${size}-${theme}-${view}`);
          await viewer.value(CLOSE);
          await viewer.shown(`!document.querySelector('dialog')`);
        }
      });
    }
  }
  await t.test('the benchmark', async () => {
    await viewer.goto(`${server.url}/bench.html`);
    await viewer.shown(`document.querySelector('main h1, h1')`);
    await look(viewer, `${browser}-bench`);
  });
}

test('how the page looks in Chromium', { skip: NO_BROWSER }, async (t) => {
  await using browser = await TestBrowser.open();
  await lookAtAll(t, new ChromiumViewer(await browser.page('about:blank')), 'Chromium');
});

for (const browser of ['Firefox', 'WebKit'] as const) {
  test(`how the page looks in ${browser}`, { skip: whyNot(browser) }, async (t) => {
    await using driver = await WebDriver.open(browser);
    await lookAtAll(t, driver, browser);
  });
}
