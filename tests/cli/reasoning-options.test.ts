import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { Output } from '../../src/cli/output.ts';
import { dialectOf } from '../../src/text/index.ts';
import { type ReasoningFlags, reasoningOf, ReasoningWriter } from '../../src/cli/reasoning-options.ts';

/** What reasoning and an answer write to a terminal or a pipe. */
async function written(flags: ReasoningFlags, isTerminal: boolean): Promise<{ out: string; err: string }> {
  const streams = [new PassThrough(), new PassThrough()] as const;
  const [stdout, stderr] = streams.map((stream) => Object.assign(stream, { isTTY: isTerminal }));
  const output = new Output({ stdout, stderr } as unknown as ConstructorParameters<typeof Output>[0]);
  const writer = new ReasoningWriter(output, flags);
  for (const [reasoning, text] of [
    ['I ', ''],
    ['think.', ''],
    ['', 'So.'],
  ] as const) {
    await writer.write(reasoning, text);
    await output.write(text);
  }
  await writer.close();
  const [out, err] = streams.map((stream) => stripVTControlCharacters(String(stream.read() ?? '')));
  return { out: out ?? '', err: err ?? '' };
}

test('reasoning stands dim before the answer on a terminal, and apart from it in a pipe', async () => {
  assert.deepEqual(await written({}, true), { out: 'I think.\n\nSo.', err: '' });
  assert.deepEqual(await written({}, false), { out: 'So.', err: '' });
  assert.deepEqual(await written({ reasoning: 'show' }, false), { out: 'So.', err: 'I think.\n\n' });
  assert.deepEqual(await written({ reasoning: 'hide' }, true), { out: 'So.', err: '' });
});

test('flags become the options of the library', () => {
  const of = { options: {}, dialect: dialectOf("<think>{{ messages[0]['content'] }}") };
  const held = { ...of, options: { regex: 'a' } };
  assert.equal(reasoningOf({}, of), undefined);
  assert.equal(reasoningOf({ reasoning: 'hide' }, of), undefined);
  assert.equal(of.dialect.thinks, true);
  assert.deepEqual(reasoningOf({}, held), { budget: 0 });
  assert.equal(reasoningOf({ reasoning: 'show' }, held), undefined);
  assert.equal(reasoningOf({}, { ...held, dialect: dialectOf('plain') }), undefined);
  assert.deepEqual(reasoningOf({ reasoning: 'off' }, of), {
    enabled: false,
    effort: undefined,
    budget: undefined,
  });
  assert.deepEqual(reasoningOf({ reasoningBudget: 5 }, of), { effort: undefined, budget: 5 });
});
