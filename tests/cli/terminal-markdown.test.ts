import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TerminalMarkdown } from '../../src/cli/terminal-markdown.ts';

const mark = (style: unknown, text: string) => `<${String(style)}>${text}</>`;

/** The text rendered as a whole, which must not depend on its pieces. */
function rendered(text: string): string {
  const whole = new TerminalMarkdown(mark);
  const shown = whole.push(text) + whole.end();
  const joined = (shownPieces: string) => shownPieces.replaceAll(/<\/><(cyan|dim|bold)>/g, '');
  const pieces = new TerminalMarkdown(mark);
  let all = '';
  for (const character of text) all += pieces.push(character);
  assert.equal(joined(all + pieces.end()), joined(shown), 'character by character');
  return shown;
}

test('marks become styles', () => {
  const cases: [source: string, shown: string][] = [
    ['plain text', 'plain text'],
    ['# Title\ntext', '<bold>Title</>\ntext'],
    ['a **bold** and *slanted* word', 'a <bold>bold</> and <italic>slanted</> word'],
    ['**a *b* c**', '<bold>a <italic>b</> c</>'],
    ['***both***', '<bold,italic>both</>'],
    ['use `a*b*c` here', 'use <cyan>a*b*c</> here'],
    ['- one\n  * two\n1. three', '• one\n  • two\n1. three'],
    ['> said', '<dim>│ </><dim>said</>'],
    ['a\n---\nb', `a\n<dim>${'─'.repeat(40)}</>\nb`],
    ['[name](https://a.b/c)', '<underline>name</><dim> (https://a.b/c)</>'],
    ['```js\nlet *a* = 1;\n```\nafter', '<dim>```js</>\n<cyan>let *a* = 1;</>\n<dim>```</>\nafter'],
    ['\\*no emphasis\\*', '*no emphasis*'],
  ];
  for (const [source, shown] of cases) assert.equal(rendered(source), shown, source);
});

test('what is no mark stays as it was written', () => {
  const cases = [
    'snake_case_name and _',
    '2 * 3 * 4, 5*6',
    'a * without an end\nand the next line*',
    '#hashtag, C#',
    '-5 degrees',
    'a [list] of [things',
    '`open code\nnext',
    '| a | b |\n|---|---|',
    'C:\\new\\table',
    `*${'long '.repeat(200)}`,
  ];
  for (const source of cases) assert.equal(rendered(source), source);
});

test('text is shown while it arrives', () => {
  const markdown = new TerminalMarkdown(mark);
  assert.equal(markdown.push('The answer is'), 'The answer is');
  assert.equal(markdown.push(' **for'), ' ');
  assert.equal(markdown.push('ty** t'), '<bold>forty</> t');
  assert.equal(markdown.push('wo'), 'wo');
});
