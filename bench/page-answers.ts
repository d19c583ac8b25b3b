import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CDPSession, Page } from 'playwright-core';
import { type SaidDelta, SaidServer } from '../tests/support/browser/said-server.ts';
import { PROJECT_ROOT } from '../tests/support/project.ts';

// What showing a long answer costs the page's thread: `node dist/bench/page-answers.js [--kind mixed|list|numbers|code|table]
// [--characters 76000] [--rate 500] [--page FOLDER]`. A server that only says a prepared text, so many tokens of four characters a second, takes
// the place of a model; the page, Chromium and the connection are the real ones. Figures are processor time of the page's thread
// by the browser's own trace, so that what else the machine does counts little.

const { values } = parseArgs({
  options: {
    kind: { type: 'string', default: 'mixed' },
    characters: { type: 'string', default: '76000' },
    rate: { type: 'string', default: '500' },
    page: { type: 'string', default: join(PROJECT_ROOT, 'dist/web') },
  },
});
const CHARACTERS_A_TOKEN = 4;
/** How many tokens the first and the last figure are of. */
const SAMPLE = 1000;
/** Tasks that are named with what they were spent on. */
const NAMED_TASKS = 5;

const words = 'the quick brown fox jumps over a lazy dog while seven wizards box in the fog';
const blocks: Readonly<Record<string, (at: number) => string>> = {
  list: (at) => `- item ${at} with **bold** words and \`code\`: ${words}\n`,
  numbers: (at) => `${at + 1}. item with *some* words: ${words}\n`,
  code: (at) => `${at === 0 ? '```ts\n' : ''}  const value${at} = compute(${at}, 'text'); // ${words}\n`,
  table: (at) => `${at === 0 ? '| a | b |\n|---|---|\n' : ''}| ${at} | ${words} |\n`,
  mixed: (at) =>
    [
      `## Part ${at}\n\nA paragraph with **bold**, *italic* and \`code\`: ${words}, ${words}.\n\n`,
      `- one ${words}\n- two ${words}\n- three\n\n`,
      `\`\`\`ts\nfor (let i = 0; i < ${at}; i++) {\n  console.log(i, '${words}');\n}\n\`\`\`\n\n`,
      `| name | value |\n|---|---|\n| a | ${at} |\n| b | ${words} |\n\n`,
    ][at % 4] ?? '',
};

/** A text of a kind with so many characters. */
function textOf(kind: string, characters: number): string {
  const block = blocks[kind];
  if (!block) throw new Error(`no kind of text: ${kind}`);
  let text = '';
  for (let at = 0; text.length < characters; at++) text += block(at);
  return text.slice(0, characters);
}

/** Says a text, so many tokens a second. */
async function* said(text: string, rate: number): AsyncGenerator<SaidDelta, void> {
  const begin = performance.now();
  const all = Math.ceil(text.length / CHARACTERS_A_TOKEN);
  for (let sent = 0; sent < all;) {
    const due = Math.min(all, Math.floor(((performance.now() - begin) / 1000) * rate) + 1);
    for (; sent < due; sent++)
      yield { content: text.slice(sent * CHARACTERS_A_TOKEN, (sent + 1) * CHARACTERS_A_TOKEN) };
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur?: number;
  /** Processor time, in microseconds as the other times. */
  readonly tdur?: number;
  readonly tid: number;
  readonly pid: number;
  readonly args?: { readonly name?: string };
}

async function traced(session: CDPSession, deed: () => Promise<void>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const categories = 'toplevel,devtools.timeline,disabled-by-default-devtools.timeline,v8';
  await session.send('Tracing.start', { transferMode: 'ReportEvents', categories });
  await deed();
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await ended;
  return events;
}

/** The tasks of the page's thread, in order, and the longest parts of one. */
function tasksOf(events: readonly TraceEvent[]) {
  const calls = events.filter(({ name }) => name === 'FunctionCall').map(threadOf);
  const counts = new Map<string, number>();
  for (const thread of calls) counts.set(thread, (counts.get(thread) ?? 0) + 1);
  const [main] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  const own = events.filter((event) => event.ph === 'X' && threadOf(event) === main);
  const tasks = own.filter(({ name }) => name === TASK).sort((a, b) => a.ts - b.ts);
  const parts = (task: TraceEvent) =>
    own
      .filter(({ ts, dur = 0 }) => ts >= task.ts && ts + dur <= task.ts + (task.dur ?? 0))
      .filter((part) => !part.name.endsWith('RunTask') && timeOf(part) > 1)
      .sort((a, b) => timeOf(b) - timeOf(a))
      .slice(0, NAMED_TASKS)
      .map((part) => `${part.name} ${timeOf(part).toFixed(1)}`);
  return { tasks, parts };
}

const TASK = 'ThreadControllerImpl::RunTask';
const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
/** Milliseconds of processor time. */
const timeOf = ({ tdur = 0 }: TraceEvent) => tdur / 1000;

async function answer(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill('Go on');
  await page.keyboard.press('Enter');
  await page.locator('.answer .turn-foot').waitFor({ state: 'attached' });
}

async function main(): Promise<void> {
  const { unpackChromium } = (await import(join(PROJECT_ROOT, 'scripts/unpack-chromium.mjs'))) as {
    unpackChromium(root: string): Promise<string | undefined>;
  };
  process.env['ROCMFORGE_TEST_CHROMIUM'] ??= await unpackChromium(PROJECT_ROOT);
  const { TestBrowser } = await import('../tests/support/browser/chromium.ts');
  const rate = Number(values.rate);
  const text = textOf(values.kind, Number(values.characters));
  await using server = await SaidServer.open(values.page, () => said(text, rate));
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`);
  await page.getByRole('button', { name: 'Model: text' }).waitFor();
  const session = await page.context().newCDPSession(page);
  report(await traced(session, () => answer(page)), rate);
}

function report(events: readonly TraceEvent[], rate: number): void {
  const { tasks, parts } = tasksOf(events);
  const begin = tasks[0]?.ts ?? 0;
  const end = tasks.at(-1)?.ts ?? 0;
  const span = (SAMPLE / rate) * 1e6;
  const busy = (from: number, to: number) =>
    tasks.filter(({ ts }) => ts >= from && ts < to).reduce((sum, task) => sum + timeOf(task), 0);
  const lengths = tasks.map(timeOf).sort((a, b) => b - a);
  const [first, last] = [busy(begin, begin + span), busy(end - span, end)];
  console.log(`${values.kind}, ${values.characters} characters, ${rate} tokens/s, ${tasks.length} tasks`);
  console.log(
    `first ${SAMPLE} tokens ${first.toFixed(0)} ms of the thread, last ${last.toFixed(0)} ms (${(last / first).toFixed(2)})`,
  );
  const thousands = Array.from({ length: Math.floor((end - begin) / span) }, (_, at) =>
    busy(begin + at * span, begin + (at + 1) * span).toFixed(0),
  );
  // The first one also fills the screen, before which there is little to lay out.
  console.log(`each ${SAMPLE}: ${thousands.join(' ')}`);
  console.log(
    `longest task ${lengths[0]?.toFixed(1)} ms, over 50 ms: ${lengths.filter((ms) => ms > 50).length}`,
  );
  const longest = [...tasks].sort((a, b) => timeOf(b) - timeOf(a)).slice(0, NAMED_TASKS);
  for (const task of longest)
    console.log(
      `  ${timeOf(task).toFixed(1)} ms at ${((task.ts - begin) / 1e6).toFixed(1)} s: ${parts(task).join(', ')}`,
    );
}

await main();
