import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersPage, looksOf } from '../support/browser/answers-page.ts';
import { NO_BROWSER } from '../support/browser/chromium.ts';
import { randomCuts, randomMarkdown } from '../support/browser/random-markdown.ts';
import fc from '../support/fast-check.ts';

test(
  'an answer of any Markdown looks the same however it came, and says what it says read as one',
  { skip: NO_BROWSER },
  async (t) => {
    const page = await answersPage(t);
    const answer = randomMarkdown.chain((text) => fc.tuple(fc.constant(text), randomCuts(text)));
    await fc.assert(
      fc.asyncProperty(answer, async ([text, cuts]) => {
        const { once, grown, onceText, wholeText } = await looksOf(page, text, cuts);
        assert.equal(grown, once);
        assert.equal(onceText, wholeText);
      }),
      { numRuns: 4000 },
    );
  },
);
