import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageFiles } from '../../src/node/page-files.ts';
import { accessibilityFaults } from '../support/browser/accessibility.ts';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { type SaidRequest, SaidServer } from '../support/browser/said-server.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { bundledSource, listen, tinyServer } from '../support/test-server.ts';

const PAGE = join(PROJECT_ROOT, 'dist/web');
const CONTEXT = 600;
const CHARACTERS_A_TOKEN = 4;
const SHORT_ANSWERS = `localStorage.setItem('rocmforge settings', '{ "temperature": 0, "maxTokens": 12, "titles": "words" }')`;
const SUMMARIZES = `localStorage.setItem('rocmforge settings', '{ "whenFull": "summarize", "titles": "words" }')`;

const textOf = ({ messages }: SaidRequest) => messages.map(({ content }) => String(content)).join('\n');

test('the beginning of a conversation that is too long is told in short', { skip: NO_BROWSER }, async (t) => {
  const requests: SaidRequest[] = [];
  const isSummary = (request: SaidRequest) => textOf(request).startsWith('Summarize this conversation');
  const summaries = () => requests.filter(isSummary).length;
  let fails = false;
  await using server = await SaidServer.open(
    PAGE,
    async function* (request) {
      requests.push(request);
      if (!isSummary(request)) yield { content: `Answer ${requests.length}` };
      else if (!fails) yield { content: `All of it, ${summaries()}.` };
    },
    { context: CONTEXT, count: (request) => Math.ceil(textOf(request).length / CHARACTERS_A_TOKEN) },
  );
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`, SUMMARIZES);
  const say = async (word: string) => {
    const before = await page.locator('.answer .turn-foot').count();
    await page.getByRole('textbox', { name: 'Message' }).fill(`${word} `.repeat(80).trim());
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').nth(before).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
  };
  const firstSent = () => String(requests.at(-1)?.messages[0]?.['content']);

  await t.test('by the model itself, once for several messages, and seen by the person', async () => {
    for (const word of ['first', 'second', 'third', 'fourth', 'fifth']) await say(word);
    assert.equal(summaries(), 1);
    const summary = requests.find(isSummary);
    assert.match(textOf(summary as SaidRequest), /You: first first[^]*Answer: Answer 1/);
    assert.deepEqual(summary?.['chat_template_kwargs'], { enable_thinking: false });
    assert.match(firstSent(), /^Before this, in short: All of it, 1\.\n\n/);
    await page.getByText(/^The model reads the oldest \d messages in short/).click();
    await page.locator('.left-out').getByText('All of it, 1.').waitFor();
    assert.equal(await page.locator('.said').count(), 5, 'they stay on the page');
    assert.deepEqual(await accessibilityFaults(page), []);
  });

  await t.test('kept over a reload, and told on in the next one', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Model: text' }).waitFor();
    await say('sixth');
    assert.match(firstSent(), /^Before this, in short: All of it, [12]\.\n\n/);
    for (const word of ['seventh', 'eighth', 'ninth']) await say(word);
    assert.ok(summaries() > 1);
    assert.match(textOf(requests.filter(isSummary).at(-1) as SaidRequest), /in short: All of it, \d\./);
  });

  await t.test('left out where the model says nothing', async () => {
    fails = true;
    for (const word of ['tenth', 'eleventh', 'twelfth', 'thirteenth']) await say(word);
    await page.getByText(/left out of what the model reads/).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });
});

test('the model names what has no short beginning', { skip: NO_BROWSER }, async (t) => {
  const requests: SaidRequest[] = [];
  await using server = await SaidServer.open(PAGE, async function* (request) {
    requests.push(request);
    const isTitle = textOf(request).startsWith('Write a title');
    yield { content: isTitle ? '**"Ships and their sails."**\nIt is about ships.' : 'Yes.' };
  });
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${server.url}/`);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  const say = async (text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').waitFor();
  };
  await t.test('a long question', async () => {
    await say('I have been wondering for a while what it is that makes a ship go against the wind.');
    await list.getByText('Ships and their sails').waitFor();
    assert.equal(await list.getByText('I have been').count(), 0);
  });
  await t.test('not a short one, which is its own title', async () => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('heading', { name: 'Say something.' }).waitFor();
    const before = requests.length;
    await say('Why is the sky blue?');
    await list.getByText('Why is the sky blue?').waitFor();
    assert.equal(requests.length, before + 1);
  });
});

test(
  'a model’s context is known from its first answer on, if it was loaded for it',
  { skip: NO_BROWSER },
  async () => {
    await using server = await SaidServer.open(
      PAGE,
      async function* () {
        yield { content: 'An answer' };
      },
      { context: 11, isLoadedLate: true },
    );
    await using browser = await TestBrowser.open();
    const page = await browser.page(`${server.url}/`);
    await page.getByRole('textbox', { name: 'Message' }).fill('A question');
    await page.keyboard.press('Enter');
    await page.getByRole('meter', { name: '11 of 11 tokens of the context are used' }).waitFor();
  },
);

test('what is left of a full context is not read again at each question', { skip: NO_BROWSER }, async (t) => {
  const models = [bundledSource({ context: 512, sequences: 1 })];
  const url = await listen(t, await tinyServer(t, { models, page: pageFiles(PAGE) }));
  await using browser = await TestBrowser.open({ viewport: { width: 1280, height: 800 } });
  const page = await browser.page(`${url}/`, SHORT_ANSWERS);
  const bodies: Promise<string>[] = [];
  page.on('response', (response) => {
    if (response.url().endsWith('/completions')) bodies.push(response.text());
  });
  for (let at = 0; at < 20; at++) {
    await page.getByRole('textbox', { name: 'Message' }).fill(`Which words begin with ${at}? `.repeat(4));
    await page.keyboard.press('Enter');
    await page.locator('.answer .turn-foot').nth(at).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  }
  await page.getByText(/left out of what the model reads/).waitFor();
  const counts = (await Promise.all(bodies)).map((body) => {
    const usage = /"prompt_tokens":(\d+)[^\n]*"cached_tokens":(\d+)/.exec(body);
    assert.ok(usage, body.slice(-500));
    return { prompt: Number(usage[1]), cached: Number(usage[2]) };
  });
  const full = counts.slice(counts.findIndex((count, at) => count.prompt < (counts[at - 1]?.prompt ?? 0)));
  assert.ok(full.length > 6, `${full.length}`);
  const again = full.filter(({ prompt, cached }) => cached < prompt / 2);
  assert.ok(again.length <= full.length / 3, JSON.stringify(full));
  // It is said after a reload, too.
  await page.reload();
  await page.getByText(/left out of what the model reads/).waitFor();
});
