import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import type { ConstraintReply, ConstraintRequest } from '../../src/text/constrained/constraint-messages.ts';
import type { ConstraintLimits } from '../../src/text/constrained/constraint-calls.ts';
import { vocabularyTable } from '../../src/text/constrained/vocabulary-table.ts';
import {
  type ConstrainedVocabulary,
  LocalConstraints,
  runConstraintWorker,
  type TokenConstraint,
  WorkerConstraints,
  writeForm,
} from '../../src/text/index.ts';
import { HUNG_MS } from '../support/hung.ts';
import { vocabularyTokenizer } from '../support/vocabularies.ts';

const WORKER = new URL('../../src/bin/constraint-worker.js', import.meta.url);
const STUCK = new URL('../support/stuck-constraints.js', import.meta.url);
const SCHEMA = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };

async function vocabularyOf(): Promise<ConstrainedVocabulary> {
  const tokenizer = await vocabularyTokenizer('gpt-2');
  return { tokenizer, size: tokenizer.vocabularySize + 7 };
}

/** Only what a test makes stuck on purpose reaches a shorter limit. */
const PATIENT: ConstraintLimits = { openMs: HUNG_MS, fillMs: HUNG_MS };

function started(t: TestContext, entry: URL, limits = PATIENT): WorkerConstraints {
  const constraints = new WorkerConstraints(nodeWorkerHost(entry, 1), limits);
  t.after(() => constraints[Symbol.asyncDispose]());
  return constraints;
}

function allows(mask: Int32Array, id: number): boolean {
  return ((mask[id >> 5] as number) & (1 << (id & 31))) !== 0;
}

async function masksOf(
  constraint: TokenConstraint,
  ids: readonly number[],
  size: number,
): Promise<Int32Array[]> {
  const masks: Int32Array[] = [];
  for (const id of [...ids, undefined]) {
    const mask = new Int32Array(Math.ceil(size / 32) + 64).fill(-1);
    await constraint.fill(mask);
    masks.push(mask);
    if (id === undefined) break;
    assert.ok(allows(mask, id), `${id} is allowed`);
    constraint.accept(id);
  }
  return masks;
}

test('a worker writes the masks that are made on this thread, and tells of the end', async (t) => {
  const vocabulary = await vocabularyOf();
  const { tokenizer, size } = vocabulary;
  const remote = started(t, WORKER);
  const local = new LocalConstraints();
  const ids = tokenizer.encode('{"a": 12}', { addSpecial: false });
  for (const form of [
    { kind: 'schema', schema: SCHEMA },
    { kind: 'regex', pattern: '\\{"a": [0-9]+\\}' },
  ] as const) {
    const written = await writeForm(form);
    using there = await remote.constrain(vocabulary, written);
    using here = await local.constrain(vocabulary, written);
    assert.deepEqual(await masksOf(there, ids, size), await masksOf(here, ids, size));
    assert.equal(there.isComplete, here.isComplete);
  }
  using choice = await remote.constrain(vocabulary, await writeForm({ kind: 'choices', choices: ['yes'] }));
  await masksOf(choice, tokenizer.encode('yes', { addSpecial: false }), size);
  assert.ok(choice.isComplete);
});

test('what cannot be held to is a typed error, which says nothing of another', async (t) => {
  const vocabulary = await vocabularyOf();
  const remote = started(t, WORKER);
  const bad = { kind: 'schema', schema: { type: 'nothing' } } as const;
  await assert.rejects(remote.constrain(vocabulary, await writeForm(bad)), { code: 'GRAMMAR_INVALID' });
  const far = { kind: 'schema', schema: { $ref: 'https://example.org/a' } } as const;
  await assert.rejects(
    remote.constrain(vocabulary, await writeForm(far)),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'SCHEMA_UNSUPPORTED');
      assert.match(error.message, /\$ref/);
      assert.doesNotMatch(error.message, /nothing|\.ts|\.js/);
      return true;
    },
  );
  const gone = AbortSignal.abort();
  const aborted = remote.constrain(vocabulary, await writeForm({ kind: 'json' }), gone);
  await assert.rejects(aborted, { code: 'ABORTED' });
});

for (const what of ['stuck', 'dead'] as const) {
  test(`a worker that is ${what} is replaced, and the texts of others go on`, async (t) => {
    const vocabulary = await vocabularyOf();
    const { tokenizer, size } = vocabulary;
    const limits = { ...PATIENT };
    const remote = started(t, STUCK, limits);
    using other = await remote.constrain(vocabulary, await writeForm({ kind: 'schema', schema: SCHEMA }));
    const ids = tokenizer.encode('{"a":', { addSpecial: false });
    await masksOf(other, ids, size);
    const forms = [
      await writeForm({ kind: 'regex', pattern: what }),
      await writeForm({ kind: 'choices', choices: ['no'] }),
    ] as const;
    limits.openMs = what === 'stuck' ? 100 : HUNG_MS;
    // Awaited from the start: the worker may be gone before anything else has a turn.
    const refused = assert.rejects(remote.constrain(vocabulary, forms[0]), { code: 'GRAMMAR_TOO_COSTLY' });
    // By the next turn it is asked for, under its own limit.
    await new Promise(setImmediate);
    limits.openMs = HUNG_MS;
    const fresh = remote.constrain(vocabulary, forms[1]);
    await refused;
    const rest = tokenizer.encode('7}', { addSpecial: false });
    const masks = await masksOf(other, rest, size);
    assert.ok(other.isComplete || masks.length > 0);
    using choice = await fresh;
    await masksOf(choice, tokenizer.encode('no', { addSpecial: false }), size);
    assert.ok(choice.isComplete);
  });
}

test('masks of open texts are written while a grammar is compiled, in their order', async () => {
  const vocabulary = await vocabularyOf();
  const { size } = vocabulary;
  const steps = vocabularyTable(vocabulary.tokenizer, size);
  let step = steps.next();
  while (!step.done) step = steps.next();
  const table = step.value;
  const sent: ConstraintRequest[] = [];
  const replies: ConstraintReply[] = [];
  let asked = 0;
  let listener: (message: unknown) => void = () => assert.fail('nobody listens');
  runConstraintWorker({
    post: (message) => replies.push(message as ConstraintReply),
    onMessage: (of) => {
      listener = of;
    },
    receive: () => {
      asked++;
      return sent.shift();
    },
  });
  const open = (text: number, form: object): ConstraintRequest => ({
    kind: 'open',
    call: 100 + text,
    text,
    vocabulary: 0,
    written: JSON.stringify(form),
    accepted: [],
    mask: new Int32Array(Math.ceil(size / 32)),
    cancelled: new Int32Array(1),
  });
  const fill = (call: number, text: number): ConstraintRequest => ({
    kind: 'fill',
    call,
    text,
    accepted: [],
  });
  const properties = Object.fromEntries(
    Array.from({ length: 4000 }, (_, at) => [`p${at}`, { type: 'object', properties: { x: SCHEMA } }]),
  );
  const first = open(1, { kind: 'schema', schema: SCHEMA });
  listener({ kind: 'vocabulary', vocabulary: 0, table } satisfies ConstraintRequest);
  listener(first);
  assert.deepEqual(replies, [{ call: 101, isComplete: false }]);
  sent.push(fill(1, 1), open(3, { kind: 'choices', choices: ['no'] }), fill(2, 1), {
    kind: 'close',
    text: 1,
  });
  listener(open(2, { kind: 'schema', schema: { type: 'object', properties } }));
  assert.ok(asked > 4, `${asked} times asked`);
  assert.deepEqual(
    replies.slice(1).map(({ call, error }) => [call, error]),
    [1, 2, 102, 103].map((call) => [call, undefined]),
  );
  assert.ok('mask' in first && first.mask.some((word) => word !== 0));
  listener(fill(4, 3));
  assert.equal(replies.at(-1)?.call, 4);
});
