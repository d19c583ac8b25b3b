import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../project.ts';
import { TestBrowser } from './chromium.ts';

/** A page with `answer()`, which makes an empty answer, and `markdown`, what the page knows of it. */
export async function answersPage(t: TestContext): Promise<Page> {
  const browser = await TestBrowser.open();
  t.after(() => browser[Symbol.asyncDispose]());
  const { outputFiles } = await build({
    stdin: {
      contents: ['growing-answer', 'finished', 'lexer', 'nodes']
        .map((name) => `export * from './${name}.ts';`)
        .join(''),
      resolveDir: join(PROJECT_ROOT, 'web/markdown'),
    },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'markdown',
  });
  // A document without its type is laid out by other rules, which KaTeX refuses.
  const page = await browser.page('data:text/html,<!doctype html><title>Answers</title>');
  await page.evaluate(`${outputFiles[0]?.text};globalThis.markdown = markdown`);
  await page.evaluate(`globalThis.answer = (finish = markdown.finish) => {
    const into = document.body.appendChild(document.createElement('div'));
    const code = () => document.createElement('button');
    return { into, shown: new markdown.GrowingAnswer(into, { code, finish }) };
  }`);
  return page;
}

/** How an answer looks that came at once, that came in pieces, and what its blocks say when they are read as one. */
export interface Looks {
  readonly once: string;
  readonly grown: string;
  readonly onceText: string;
  readonly wholeText: string;
}

/** Shows a text at once, and by beginnings of the given lengths; those of which `ended` is true as if they were whole. */
export async function looksOf(
  page: Page,
  text: string,
  cuts: readonly (readonly [length: number, ended: boolean])[],
): Promise<Looks> {
  return page.evaluate<Looks>(`((text, cuts) => {
    document.body.replaceChildren();
    const made = (grow) => {
      const { into, shown } = answer(() => {});
      grow(shown);
      shown.show(text, true);
      return plain(into);
    };
    // Colours come with lines, and the end of an item's text may have a space.
    const plain = (into) => {
      for (const code of into.querySelectorAll('pre code')) code.textContent = code.textContent;
      for (const { lastChild } of into.querySelectorAll('li, li p')) {
        if (lastChild instanceof Text) lastChild.data = lastChild.data.trimEnd();
      }
      return into;
    };
    const once = made(() => {});
    const grown = made((shown) => cuts.forEach(([length, ended]) => shown.show(text.slice(0, length), ended)));
    const tokens = markdown.blocksOf(markdown.plainLines(text.replaceAll('\\r', '')), Object.create(null));
    const whole = document.createElement('div');
    whole.append(...markdown.blockNodes(tokens.filter((token) => !markdown.isBlank(token)), () => ''));
    return {
      once: once.innerHTML,
      grown: grown.innerHTML,
      onceText: once.textContent,
      wholeText: plain(whole).textContent,
    };
  })(${JSON.stringify(text)}, ${JSON.stringify(cuts)})`);
}
