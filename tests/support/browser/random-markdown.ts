import fc from '../fast-check.ts';

/** What lines are made of: what Markdown knows, halves of it, and characters that some take for spaces. */
const WORDS = [
  'a word',
  '**bold**',
  '*em*',
  '_it_',
  '~~del~~',
  '`code`',
  '``a ` b``',
  '[l](http://x.y/z)',
  '[ref]',
  '[t][ref]',
  '[^1]',
  '![i](u.png)',
  '<b>x</b>',
  '<br>',
  '<i>',
  '$x_1$',
  String.raw`\(a\)`,
  '$$y$$',
  '$5',
  '&lt;',
  String.raw`\*`,
  '\\',
  'http://e.org/a',
  '<http://q.w>',
  '😀',
  'שלום',
  ...'|#-+>*_`[]()=:"<$~',
  '1.',
  '```',
  '~~~',
  '[x]',
  '[ ]',
  '**',
  '<!--',
  '-->',
  '<div>',
  '$$',
  String.raw`\[`,
  String.raw`\]`,
  ...'\t\f\v\0\u00a0\u2028\ufeff',
];

const line = fc
  .array(fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(' ', ' ', '', '  ')), {
    minLength: 1,
    maxLength: 4,
  })
  .map((words) => words.flat().join(''));
const lines = fc.array(line, { minLength: 1, maxLength: 3 }).map((of) => of.join('\n'));
const indent = fc.constantFrom('', '', '', ' ', '  ', '    ', '\t');
const brake = fc.constantFrom('\n', '\n', '\n', '\n\n', '\r\n', ' \n', '\n \n', '\n\t\n', '\n\f');
const mark = fc.constantFrom('-', '-', '*', '+', '1.', '2)', '7.', '10.');
const task = fc.constantFrom('', '', '', '[x] ', '[ ] ');
const fence = fc.constantFrom('```', '~~~', '````', '~~~~', '``');

const { block } = fc.letrec<{ block: string; deeper: string }>((tie) => ({
  deeper: fc.oneof({ maxDepth: 2 }, lines, tie('block')),
  block: fc.oneof(
    { maxDepth: 2 },
    lines,
    fc
      .tuple(fc.constantFrom('#', '##', '####### '), fc.constantFrom(' ', '', '\t'), line)
      .map((of) => of.join('')),
    fc.tuple(line, fc.constantFrom('===', '---', '=', '-', '--')).map((of) => of.join('\n')),
    fc.constantFrom('---', '***', '- - -'),
    fc
      .tuple(indent, fence, fc.constantFrom('', 'js', ' c {x}', '~'), brake, lines, fc.oneof(fence, line))
      .map(
        ([before, open, info, end, body, close]) => before + open + info + end + body + end + before + close,
      ),
    fc
      .array(
        fc.tuple(indent, mark, fc.constantFrom(' ', '  ', '\t', '', ' \n  '), task, tie('deeper'), brake),
        {
          minLength: 1,
          maxLength: 5,
        },
      )
      .map((items) => items.map(([...of]) => of.join('').replaceAll(/\n(?=.)/g, '\n  ')).join('')),
    // More items than an element of a list has.
    fc
      .tuple(mark, line, fc.integer({ min: 30, max: 70 }))
      .map(([of, text, count]) => `${of} ${text}\n`.repeat(count)),
    fc
      .array(fc.tuple(indent, fc.constantFrom('> ', '>', '>\t'), tie('deeper')), {
        minLength: 1,
        maxLength: 3,
      })
      .map((quoted) => quoted.map((of) => of.join('').replaceAll('\n', '\n> ')).join('\n')),
    fc
      .tuple(line, fc.constantFrom('---|---', '|-|:-:|', ':-|', '---'), fc.array(line, { maxLength: 3 }))
      .map(([head, rule, rows]) => [`|${head}|b|`, rule, ...rows].join('\n')),
    fc
      .tuple(fc.constantFrom('<div>', '<pre>', '<!-- c', '<script>', '<?php', '<x-y>'), brake, line, brake)
      .map(([open, first, text, end]) => `${open}${first}${text}${end}</div>`),
    fc
      .tuple(
        fc.constantFrom('[ref]:', '[^1]:', '[REF]:'),
        fc.constantFrom(' ', '\n', ''),
        fc.constantFrom('http://d.e/f', '<u v>', ''),
        fc.constantFrom('', ' "title"', ' "ti', '\n"next"', ' two words'),
      )
      .map((of) => of.join('')),
    fc
      .tuple(
        fc.constantFrom('$$', String.raw`\[`),
        brake,
        lines,
        brake,
        fc.constantFrom('$$', String.raw`\]`, ''),
      )
      .map((of) => of.join('')),
    fc.tuple(line, line).map(([a, b]) => `    ${a}\n\n    ${b}`),
  ),
}));

/** Markdown as a model might write it, were it mad. */
export const randomMarkdown = fc
  .array(fc.tuple(block, fc.constantFrom('\n\n', '\n\n', '\n', '\r\n\r\n', '\n \n', '\n\u00a0\n')), {
    minLength: 1,
    maxLength: 5,
  })
  .map((blocks) => blocks.flat().join(''));

/** The beginnings by which a text comes: lengths, in order, with whether the answer seemed to end there. */
export function randomCuts(text: string) {
  const cut = fc.tuple(fc.integer({ min: 1, max: Math.max(1, text.length) }), fc.integer({ min: 0, max: 9 }));
  return fc
    .array(cut, { maxLength: 60 })
    .map((cuts) => cuts.map(([at, chance]) => [at, chance === 0] as const).toSorted(([a], [b]) => a - b));
}
