import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersPage, looksOf } from '../support/browser/answers-page.ts';
import { NO_BROWSER } from '../support/browser/chromium.ts';

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

/** Texts of which a beginning means something else than the whole, each seen to be shown otherwise once. */
const TURNING = [
  '6.\n7.',
  '- a\n8.|',
  '-\n\n- a',
  '-  \u00a0w',
  '- \f\n-',
  '3. \v$',
  'r\n8. \n-[',
  '- [ ] a\n\n- [x] b\n\n- c',
  ' \n<\n-*',
  'x\n$$\n- a\n$$',
  '$$x$$ and $$y$$',
  's\n$$\n=\n$$',
  String.raw`\\$$y$$^`,
  '\\[\n\nx\n\\]',
  'see [t][ref]\n\n- [ref]\n\n> [ref]: http://a.b\n\nend',
  'see [ref]\n\n[ref]: two\nwords',
  '[ref]: http://a.b "t\n\n- a\n\n"\n===',
  '[1]:>\n"\n"',
  '[^1]\n\n[^1]:#',
  'a|b\n-|-\n1|2\nend',
  '~~~js\nx\n~~\n~~~~\nafter',
];

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

test(
  'an answer looks the same however it came, and says what its Markdown says read as one',
  { skip: NO_BROWSER },
  async (t) => {
    const page = await answersPage(t);
    for (const text of TURNING) {
      const lengths = Array.from(text, (_, at) => at + 1);
      for (const ended of [-1, ...lengths]) {
        const cuts = lengths.map((length) => [length, length === ended] as const);
        const { once, grown, onceText, wholeText } = await looksOf(page, text, cuts);
        assert.equal(grown, once, JSON.stringify(text));
        assert.equal(onceText, wholeText, JSON.stringify(text));
      }
    }
  },
);

test('a task’s box is shown once, also where empty lines part the items', { skip: NO_BROWSER }, async (t) => {
  const page = await answersPage(t);
  const { once } = await looksOf(page, '- [x] done\n\n- [ ] open\n\n- other', []);
  assert.equal(once.match(/<input/g)?.length, 2);
  assert.doesNotMatch(once, /\[[x ]\]/);
});

test('links are links wherever their definition is', { skip: NO_BROWSER }, async (t) => {
  const page = await answersPage(t);
  const text =
    'By [one][1].\n\n- and [two]\n- more\n\nAn end.\n\n[1]: http://a.example/\n[two]: http://b.example/\n\nA word.';
  const { grown } = await looksOf(
    page,
    text,
    Array.from(text, (_, at) => [at + 1, false] as const),
  );
  assert.deepEqual(grown.match(/href="[^"]*"/g), ['href="http://a.example/"', 'href="http://b.example/"']);
});

test('what would hang or crash a page is shown as far as it is read', { skip: NO_BROWSER }, async (t) => {
  const page = await answersPage(t);
  for (const [piece, tag] of [
    ['<b>', 'b'],
    ['> ', 'blockquote'],
    ['- ', 'ul'],
    ['*_', 'em'],
    ['**a_b', 'p'],
  ] as const) {
    const { once } = await looksOf(page, `${piece.repeat(20_000)}x\n\nEnd.`, []);
    assert.ok(once.includes('End.'), piece);
    const deep = await page.evaluate<number>(
      `Math.max(0, ...[...document.querySelectorAll('${tag}')].slice(-100).map((of) => { let deep = 0; for (let at = of; at; at = at.parentElement) deep++; return deep; }))`,
    );
    assert.ok(deep < 100, `${piece} is ${deep} deep`);
  }
});
