import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** What the path is walked with. */
export interface Walk {
  readonly page: Page;
  readonly isServed: boolean;
  /** A folder for what the page saves. */
  readonly folder: string;
  /** Takes a picture, named by its number and a word. */
  readonly picture: (word: string) => Promise<void>;
  /** Ends the server as a crash does, and starts it again at its address; absent where it is not the walk's own. */
  readonly server?: { readonly kill: () => Promise<void>; readonly restart: () => Promise<void> } | undefined;
}

export type Deed = readonly [name: string, deed: (walk: Walk) => Promise<void>];

export const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };
const QUESTION = 'What is the capital of France?';
const NOTES = 'Apples: 3\nPears: 5\nPlums: 8\n';
/** The context of a model in the browser, which has to be full after some questions. */
const SMALL_CONTEXT = '1024';
/** Questions after which the context has to be full. */
const MOST_QUESTIONS = 40;

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name });
const last = (page: Page) => page.locator('.turn.answer').last();
const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });

async function ask(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
  await page.locator('.said').last().getByText(text).waitFor();
}

/** Waits for the first words of the answer to the last question. */
async function begun(page: Page): Promise<void> {
  await page.locator('.turn.answer:last-child .text').waitFor();
}

/** Waits until nothing is being written. */
async function answered(page: Page): Promise<void> {
  await last(page).locator('.turn-foot').waitFor({ state: 'attached' });
  await button(page, 'Send').waitFor();
}

async function fresh(page: Page): Promise<void> {
  await button(page, 'New conversation').click();
  await page.getByRole('heading', { name: 'Say something.' }).waitFor();
}

/** Sets the most tokens of an answer; '' for no limit. */
async function limit(page: Page, tokens: string): Promise<void> {
  await button(page, 'Settings').click();
  await page.getByLabel('Most tokens of an answer').fill(tokens);
  await closed(page);
}

async function closed(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Goes on with an answer that can be. */
async function wentOn(page: Page): Promise<void> {
  const goOn = last(page).getByRole('button', { name: 'Continue' });
  if (!(await goOn.isVisible())) return;
  const said = () => last(page).locator('.text').innerText();
  const before = await said();
  await goOn.click();
  while ((await said()) === before) await page.waitForTimeout(20);
  await answered(page);
}

/** The deeds, in the order in which they are done. */
export const DEEDS: readonly Deed[] = [
  [
    'a model is there',
    async ({ page, isServed, picture }) => {
      if (!isServed) {
        await button(page, 'Settings').click();
        await page.getByLabel('Context in tokens').fill(SMALL_CONTEXT);
        await closed(page);
        if (await button(page, /^Model: /).isVisible()) await button(page, /^Model: /).click();
        await picture('choose');
        await button(page, /^Load MiniMind2 Small/).click();
        await button(page, /^Model: MiniMind2 Small/).waitFor();
      }
      await page.getByRole('textbox', { name: 'Message' }).waitFor();
      await picture('first');
    },
  ],
  [
    'a first question is answered',
    async ({ page, picture }) => {
      await limit(page, '128');
      await ask(page, QUESTION);
      await answered(page);
      await picture('answer');
    },
  ],
  [
    'an answer is stopped, and continued',
    async ({ page, picture }) => {
      await limit(page, '');
      await ask(page, 'Tell me a very long story about a ship.');
      await begun(page);
      await picture('writing');
      await page.keyboard.press('Escape');
      // A small model may have ended by itself.
      await answered(page);
      await limit(page, '64');
      await wentOn(page);
    },
  ],
  [
    'a question is asked otherwise, and the first version looked at again',
    async ({ page, picture }) => {
      await page.locator('.said').first().getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Edited text').fill('What is the capital of Italy?');
      await page.locator('.editor').getByRole('button', { name: 'Send' }).click();
      await page.locator('.said').getByText('Italy').waitFor();
      await answered(page);
      await picture('branch');
      await page.locator('.said').first().getByRole('button', { name: 'Previous version' }).click();
      await page.locator('.said').first().getByText(QUESTION).waitFor();
    },
  ],
  [
    'another answer is asked for, and the first one deleted and brought back',
    async ({ page }) => {
      await last(page).getByRole('button', { name: 'Answer again' }).click();
      await last(page).getByRole('img', { name: 'Version 2 of 2' }).waitFor();
      await answered(page);
      const turns = await page.locator('.turn').count();
      await page
        .locator('.turn.answer')
        .first()
        .getByRole('button', { name: /^Delete/ })
        .click();
      await button(page, 'Undo').click();
      await page
        .locator('.turn')
        .nth(turns - 1)
        .waitFor();
    },
  ],
  [
    'a text and a PDF go with a question',
    async ({ page, picture }) => {
      await fresh(page);
      // The page itself, as the browser prints it.
      const printed = { name: 'page.pdf', mimeType: 'application/pdf', buffer: await page.pdf() };
      const notes = { name: 'fruit.txt', mimeType: 'text/plain', buffer: Buffer.from(NOTES) };
      await page.locator('.composer input[type=file]').setInputFiles([notes, printed]);
      const files = page.getByRole('list', { name: 'Attached files' });
      await files.getByText('fruit.txt').waitFor();
      await files.getByText('page.pdf').waitFor();
      await picture('files');
      await ask(page, 'How many pears are there?');
      await answered(page);
      await page.locator('.said').getByText('page.pdf').click();
      await page.locator('.said pre').getByText('Say something.').waitFor();
      await picture('read');
    },
  ],
  [
    'a conversation grows beyond the context',
    async ({ page, picture }) => {
      await limit(page, '');
      for (let asked = 0; asked < MOST_QUESTIONS; asked++) {
        await ask(page, `Tell me of ${asked + 1} animals, at length.`);
        await answered(page);
        if (await page.locator('.left-out').isVisible()) break;
      }
      await page.locator('.left-out').evaluate('(element) => element.scrollIntoView({ block: "center" })');
      await picture('full');
    },
  ],
  [
    'conversations are searched, and opened again',
    async ({ page, picture }) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('Italy');
      await list(page).getByText('pears').waitFor({ state: 'detached' });
      await picture('search');
      await list(page).getByText(QUESTION).click();
      await page.locator('.said').first().getByText(QUESTION).waitFor();
      await list(page).getByRole('searchbox').fill('');
    },
  ],
  [
    'the page is loaded again in the middle of an answer, and nothing is lost',
    async ({ page, isServed }) => {
      await limit(page, '512');
      await ask(page, 'Tell me of the sea.');
      await begun(page);
      await page.reload();
      await page.locator('.said').getByText('Tell me of the sea.').waitFor();
      await button(page, /^Model: /).waitFor();
      // On the server it goes on; in the browser, by a click.
      if (!isServed) await wentOn(page);
      await answered(page);
    },
  ],
  [
    'a second tab shows what is written in the first',
    async ({ page, isServed }) => {
      // A model in the browser is the first tab's.
      const second = await page.context().newPage();
      await second.goto(page.url());
      await second.locator('.said').first().getByText(QUESTION).waitFor();
      await ask(page, 'And of the mountains?');
      await answered(page);
      await second.locator('.said').last().getByText('And of the mountains?').waitFor();
      if (isServed) {
        await ask(second, 'And of the woods?');
        await answered(second);
        await page.locator('.said').last().getByText('And of the woods?').waitFor();
      }
      await second.close();
    },
  ],
  [
    'the server ends in the middle of an answer, and comes back',
    async ({ page, picture, server }) => {
      if (!server) return;
      await limit(page, '');
      await ask(page, 'Tell me a very long story about a ship.');
      await begun(page);
      await server.kill();
      await answered(page);
      await picture('broken');
      await limit(page, '64');
      await server.restart();
      await wentOn(page);
      await ask(page, 'Are you there again?');
      await answered(page);
    },
  ],
  [
    'conversations are exported, one is deleted and brought back, and imported ones are in the list',
    async ({ page, folder }) => {
      const saved = page.waitForEvent('download');
      await button(page, 'Export all').click();
      const file = join(folder, 'conversations.json');
      await (await saved).saveAs(file);
      const kept = await list(page).getByRole('listitem').count();
      await page.keyboard.press('Control+Shift+d');
      await button(page, 'Undo').click();
      await list(page)
        .getByRole('listitem')
        .nth(kept - 1)
        .waitFor();
      await page.locator('nav input[type=file]').setInputFiles(file);
      await list(page)
        .getByRole('listitem')
        .nth(2 * kept - 1)
        .waitFor();
    },
  ],
  [
    'models and settings are looked through',
    async ({ page, picture }) => {
      await button(page, /^Model: /).click();
      await page.getByRole('dialog').waitFor();
      await picture('models');
      await closed(page);
      await button(page, 'Settings').click();
      await page.getByText('More about sampling').click();
      await picture('settings');
      await closed(page);
    },
  ],
  [
    'on a phone, in the dark',
    async ({ page, picture, folder }) => {
      await page.setViewportSize(PHONE);
      await button(page, 'Settings').click();
      await page.getByLabel('Colours').selectOption('dark');
      await closed(page);
      await picture('phone');
      await page.setViewportSize(DESKTOP);
      await picture('dark');
      const tree = await page.locator('body').ariaSnapshot();
      await writeFile(join(folder, 'names.txt'), tree);
    },
  ],
];
