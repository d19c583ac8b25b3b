// Makes the README's pictures from real runs of this build: `npm run pictures`. docs/pictures/terminal.svg shows commands and what they
// wrote, appearing as it came (pauses are shortened); docs/pictures/page.png is the chat page on a server of the bundled model, in Chromium.
// The page's icons are web/static/icon.svg in the sizes that systems ask for.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpackChromium } from './unpack-chromium.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const OUT = join(ROOT, 'docs/pictures');
const MAIN = join(ROOT, 'dist/src/cli/rocmforge.cjs');
const QUESTION = 'What is the capital of France?';

/** What the terminal shows: options of `rocmforge`, in lines as one would type them. */
const SCHEMA =
  '{"type":"object","properties":{"city":{"enum":["Rome","Paris"]},"country":{"enum":["Italy","France"]}},"required":["city","country"],"additionalProperties":false}';
const COMMANDS = [
  { shown: [`$ npx rocmforge run -p "${QUESTION}"`], args: ['run', '-p', QUESTION] },
  {
    shown: [
      `$ npx rocmforge run -p "${QUESTION}" --schema '{"type":"object",`,
      `>   "properties":{"city":{"enum":["Rome","Paris"]},"country":{"enum":["Italy","France"]}},`,
      `>   "required":["city","country"],"additionalProperties":false}'`,
    ],
    args: ['run', '-p', QUESTION, '--schema', SCHEMA],
  },
];

const CELL = { width: 8.43, height: 20 };
const COLUMNS = 88;
const MARGIN = 16;
/** Longest pause between two pieces of a recording, in seconds. */
const LONGEST = 0.6;

/** Runs a command; what it wrote to standard output in pieces, each with the seconds since the one before. */
async function record(args) {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const pieces = [];
  let last = performance.now();
  child.stdout.setEncoding('utf8').on('data', (text) => {
    const now = performance.now();
    pieces.push({ text, seconds: (now - last) / 1000 });
    last = now;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`rocmforge ${args.join(' ')} ended with ${code}`);
  return pieces;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A terminal that notes where and when each piece of text appears. */
class Terminal {
  #row = 0;
  #column = 0;
  #seconds = 0.4;
  #texts = [];

  write(text, { seconds = 0, kind = 'out' } = {}) {
    this.#seconds += Math.min(seconds, LONGEST);
    text.split('\n').forEach((line, index) => {
      if (index > 0) this.#newLine();
      for (let at = 0; at < line.length;) {
        if (this.#column === COLUMNS) this.#newLine();
        const part = line.slice(at, at + COLUMNS - this.#column);
        this.#put(part, kind);
        at += part.length;
      }
    });
  }

  #newLine() {
    this.#row++;
    this.#column = 0;
  }

  #put(text, kind) {
    if (text.trim() !== '') {
      const x = (MARGIN + this.#column * CELL.width).toFixed(1);
      const y = MARGIN + (this.#row + 0.75) * CELL.height;
      const length = (text.length * CELL.width).toFixed(1);
      const delay = `animation-delay:${this.#seconds.toFixed(2)}s`;
      this.#texts.push(
        `<text x="${x}" y="${y}" textLength="${length}" class="${kind}" style="${delay}">${escaped(text)}</text>`,
      );
    }
    this.#column += text.length;
  }

  svg() {
    const width = Math.ceil(2 * MARGIN + COLUMNS * CELL.width);
    const height = 2 * MARGIN + (this.#row + 1) * CELL.height;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" xml:space="preserve">`,
      '<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d5dae1;white-space:pre;animation:show 1ms both}',
      '.in{fill:#8bd5ff}@keyframes show{from{opacity:0}}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>',
      `<rect width="${width}" height="${height}" rx="8" fill="#14181e"/>`,
      ...this.#texts,
      '</svg>',
      '',
    ].join('\n');
  }
}

async function recordTerminal() {
  const terminal = new Terminal();
  for (const { shown, args } of COMMANDS) {
    for (const line of shown) terminal.write(`${line}\n`, { seconds: LONGEST, kind: 'in' });
    for (const { text, seconds } of await record(args)) terminal.write(text, { seconds });
    terminal.write('\n');
  }
  writeFileSync(join(OUT, 'terminal.svg'), terminal.svg());
}

async function openBrowser(look) {
  const folder = await unpackChromium(ROOT);
  if (!folder) throw new Error('Chromium cannot be unpacked on this machine');
  process.env.ROCMFORGE_TEST_CHROMIUM = folder;
  process.env.LD_LIBRARY_PATH = folder;
  const { TestBrowser } = await import('../dist/tests/support/browser/chromium.js');
  return TestBrowser.open(look);
}

/** Systems cut maskable icons to shapes of their own, and Apple's have corners of their own: these fill their square. */
const ICONS = [
  { name: 'icon-192.png', size: 192, fills: false },
  { name: 'icon-512.png', size: 512, fills: false },
  { name: 'icon-maskable-512.png', size: 512, fills: true },
  { name: 'apple-touch-icon.png', size: 180, fills: true },
];

async function takeIcons() {
  const drawn = readFileSync(join(ROOT, 'web/static/icon.svg'), 'utf8');
  const browser = await openBrowser({});
  try {
    const page = await browser.page('about:blank');
    for (const { name, size, fills } of ICONS) {
      const svg = (fills ? drawn.replace(' rx="15"', '') : drawn).replace(
        '<svg ',
        `<svg width="${size}" height="${size}" `,
      );
      await page.setViewportSize({ width: size, height: size });
      await page.setContent(`<style>body{margin:0}svg{display:block}</style>${svg}`);
      await page.screenshot({ path: join(ROOT, 'web/static', name), omitBackground: true });
    }
  } finally {
    await browser[Symbol.asyncDispose]();
  }
}

/** The page after one question, on a server of its own. */
async function takePage() {
  const stdio = ['ignore', 'pipe', 'ignore'];
  const server = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], { cwd: ROOT, stdio });
  const browser = await openBrowser({ viewport: { width: 960, height: 560 }, colorScheme: 'light' });
  try {
    const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
    const page = await browser.page(/http:\S+/.exec(line)[0]);
    await page.getByRole('textbox', { name: 'Message' }).fill(QUESTION);
    await page.keyboard.press('Enter');
    await page.locator('.turns > .turn.answer[aria-busy="false"]').waitFor();
    await page.screenshot({ path: join(OUT, 'page.png') });
  } finally {
    await browser[Symbol.asyncDispose]();
    server.kill('SIGTERM');
  }
}

mkdirSync(OUT, { recursive: true });
await takeIcons();
await recordTerminal();
await takePage();
for (const name of ['terminal.svg', 'page.png'])
  console.log(`${name}: ${statSync(join(OUT, name)).size} bytes`);
