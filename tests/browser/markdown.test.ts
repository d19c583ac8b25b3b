import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { PROJECT_ROOT } from '../support/project.ts';

/** Every kind of block, such as models write, and what would be dangerous as HTML. */
const TEXT = [
  '# Title',
  'A **bold** word, `code <b>`, a [link](https://example.com/a), [another](javascript:alert(1)), H<sub>2</sub>O.',
  '- [x] done\n- [ ] open\n  1. inner\n  2. second',
  '3. three\n4. four',
  '| a | b |\n|---|:-:|\n| one<br>two | `x` |',
  '```js\nconst a = 1;\n\nlet b;\n```',
  '> quoted\n> on',
  String.raw`The sum \(a_1 + b_2\) and` + '\n\n' + String.raw`\[ \frac{x_1}{y_2} \]`,
  '<img src=x onerror="globalThis.broken = true"><script>globalThis.broken = true</script>',
  '![picture](https://tracker.example/x.png)',
  'Title again\n===',
  // The definition of a link, until its last word.
  '[note]: two words',
  // More blocks than a part has.
  ...Array.from({ length: 20 }, (_, at) => `Paragraph ${at}.`),
  // And more items than a list's element has.
  Array.from({ length: 70 }, (_, at) => `${at + 1}. item`).join('\n'),
  'An end with 5 &lt; 6 &amp; $5 and $6.',
].join('\n\n');

/** A page with `answer()`, which makes an empty answer. */
async function answersPage(t: TestContext): Promise<Page> {
  const browser = await TestBrowser.open();
  t.after(() => browser[Symbol.asyncDispose]());
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './growing-answer.ts'; export * from './finished.ts';`,
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
  await page.evaluate(`globalThis.answer = () => {
    const into = document.body.appendChild(document.createElement('div'));
    const code = () => document.createElement('button');
    return { into, shown: new markdown.GrowingAnswer(into, { code, finish: markdown.finish }) };
  }`);
  return page;
}

test(
  'an answer looks the same written at once or letter by letter, and finished blocks stay',
  { skip: NO_BROWSER },
  async (t) => {
    const page = await answersPage(t);
    const [whole, grown, isKept, selected] = (await page.evaluate(`((text) => {
    const once = answer();
    once.shown.show(text, true);
    const slow = answer();
    const title = () => slow.into.querySelector('h2');
    let first;
    for (let at = 1; at <= text.length; at++) {
      // Whole: a browser that is busy may leave out what is drawn meanwhile.
      slow.shown.show(text.slice(0, at), true);
      if (at === 100) {
        first = title();
        const word = slow.into.querySelector('strong').firstChild;
        getSelection().setBaseAndExtent(word, 0, word, 4);
      }
    }
    return [once.into.innerHTML, slow.into.innerHTML, first === title(), getSelection().toString()];
  })(${JSON.stringify(TEXT)})`)) as [string, string, boolean, string];
    assert.equal(grown, whole);
    assert.equal(isKept, true);
    assert.equal(selected, 'bold');

    // Formulas are made when all the rest is there.
    await page.locator('.typeset').nth(3).waitFor({ state: 'attached' });
    const facts = await page.evaluate(`(() => {
    const of = (selector) => [...document.querySelector('div').querySelectorAll(selector)];
    const texts = (selector) => of(selector).map((element) => element.textContent);
    return {
      broken: globalThis.broken ?? false,
      images: of('img, script').length,
      links: of('a').map((link) => link.href),
      tasks: of('input').map((box) => box.checked),
      numbers: of('ol').map((list) => list.start),
      items: of('ol').map((list) => list.children.length),
      cells: texts('td'),
      code: texts('pre code'),
      math: of('.math').map((formula) => [...formula.querySelectorAll('math > semantics > :first-child')].map((row) => row.textContent).join()),
      source: texts('.math annotation'),
      coloured: texts('[class^=code-]:not(.code-head)'),
      alike: new Set([...document.querySelectorAll('div:has(> div > h2)')].map((answer) => answer.innerHTML)).size,
      small: texts('sub'),
      end: of('p').at(-1).textContent,
    };
  })()`);
    assert.deepEqual(facts, {
      broken: false,
      images: 0,
      links: ['https://example.com/a', 'https://tracker.example/x.png'],
      tasks: [true, false],
      numbers: [1, 3, 1, 33, 65],
      items: [2, 2, 32, 32, 6],
      cells: ['onetwo', 'x'],
      code: ['const a = 1;\n\nlet b;'],
      math: ['a1+b2', 'x1y2'],
      source: ['a_1 + b_2', String.raw`\frac{x_1}{y_2}`],
      coloured: ['const', '1', 'let'],
      alike: 1,
      small: ['2'],
      end: 'An end with 5 < 6 & $5 and $6.',
    });
  },
);

/** More lines than a chunk has, with a comment across two of them, what looks like the end but is not, and empty lines at the end. */
const LINES = Array.from({ length: 95 }, (_, at) =>
  at === 38 ? '/* on' : at === 41 ? 'off */' : at === 60 ? '~~~` no' : at === 79 ? '' : `f(${at}, 'x');`,
);
const CODE = `Look:\n\n~~~ts\n${LINES.join('\n')}\n\n\n~~~\n\nDone.\n\n~~~\n~~~\n\n~~~js\nopen(1)\n~~`;

test(
  'code that grows is read and coloured line by line, as it is at once, and stays selected',
  { skip: NO_BROWSER },
  async (t) => {
    const page = await answersPage(t);
    const [whole, written, continued, early, selected, kept] = (await page.evaluate(`(async (text, code) => {
      const grow = (shown, whole) => {
        for (let at = 1; at <= text.length; at++) shown.show(text.slice(0, at), whole(at));
        shown.show(text, true);
      };
      const once = answer();
      once.shown.show(text, true);
      const live = answer();
      grow(live.shown, () => false);
      const continued = answer();
      // An answer that ends now and then, and is continued.
      grow(continued.shown, (at) => at % 7 === 0);
      // Drawing may pause: what is shown is asked for until it is there.
      const drawn = answer();
      const show = (at, selector) => {
        while (!drawn.into.querySelector(selector)) drawn.shown.show(text.slice(0, at), false);
      };
      show(text.indexOf('f(81'), 'code > span:nth-child(3)');
      const early = drawn.into.querySelectorAll('.code-comment').length;
      const last = drawn.into.querySelector('code > span:nth-child(3)').firstChild;
      getSelection().setBaseAndExtent(last, 0, last, 5);
      const selected = getSelection().toString();
      drawn.shown.show(text, true);
      // What is finished at once is coloured in slices of time.
      const isPlain = (chunk) => !chunk.querySelector('[class^=code-]');
      for (const { into } of [once, live, continued])
        while ([...into.querySelectorAll('code > span')].some(isPlain)) await new Promise((resolve) => setTimeout(resolve));
      return [once.into.innerHTML, live.into.innerHTML, continued.into.innerHTML, early, selected, getSelection().toString()];
    })(${JSON.stringify(CODE)})`)) as [string, string, string, number, string, string];
    assert.equal(written, whole);
    assert.equal(continued, whole);
    assert.match(whole, /code-comment">f\(40, 'x'\);\noff \*\/<\/span>/);
    assert.equal(early, 2);
    assert.match(selected, /^\n?f\(/);
    assert.equal(kept, selected);
  },
);
