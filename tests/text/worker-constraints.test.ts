import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { nodeWorkerHost } from '../../src/node/worker-host.ts';
import {
  type ConstrainedVocabulary,
  LocalConstraints,
  type TokenConstraint,
  WorkerConstraints,
} from '../../src/text/index.ts';
import { vocabularyTokenizer } from '../support/vocabularies.ts';

const WORKER = new URL('../../src/node/constraint-worker.js', import.meta.url);
const STUCK = new URL('../support/stuck-constraints.js', import.meta.url);
const SCHEMA = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };

async function vocabularyOf(): Promise<ConstrainedVocabulary> {
  const tokenizer = await vocabularyTokenizer('gpt-2');
  return { tokenizer, size: tokenizer.vocabularySize + 7 };
}

function started(t: TestContext, entry: URL): WorkerConstraints {
  const constraints = new WorkerConstraints(nodeWorkerHost(entry, 1), { openMs: 15_000, fillMs: 15_000 });
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
    using there = await remote.constrain(vocabulary, form);
    using here = await local.constrain(vocabulary, form);
    assert.deepEqual(await masksOf(there, ids, size), await masksOf(here, ids, size));
    assert.equal(there.isComplete, here.isComplete);
  }
  using choice = await remote.constrain(vocabulary, { kind: 'choices', choices: ['yes'] });
  await masksOf(choice, tokenizer.encode('yes', { addSpecial: false }), size);
  assert.ok(choice.isComplete);
});

test('what cannot be held to is a typed error, which says nothing of another', async (t) => {
  const vocabulary = await vocabularyOf();
  const remote = started(t, WORKER);
  const bad = { kind: 'schema', schema: { type: 'nothing' } } as const;
  await assert.rejects(remote.constrain(vocabulary, bad), { code: 'GRAMMAR_INVALID' });
  const far = { kind: 'schema', schema: { $ref: 'https://example.org/a' } } as const;
  await assert.rejects(remote.constrain(vocabulary, far), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'SCHEMA_UNSUPPORTED');
    assert.match(error.message, /\$ref/);
    assert.doesNotMatch(error.message, /nothing|\.ts|\.js/);
    return true;
  });
  const gone = AbortSignal.abort();
  const aborted = remote.constrain(vocabulary, { kind: 'json' }, gone);
  await assert.rejects(aborted, { code: 'ABORTED' });
});

for (const what of ['stuck', 'dead'] as const) {
  test(`a worker that is ${what} is replaced, and the texts of others go on`, async (t) => {
    const vocabulary = await vocabularyOf();
    const { tokenizer, size } = vocabulary;
    const remote = started(t, STUCK);
    using other = await remote.constrain(vocabulary, { kind: 'schema', schema: SCHEMA });
    const ids = tokenizer.encode('{"a":', { addSpecial: false });
    await masksOf(other, ids, size);
    const culprit = remote.constrain(vocabulary, { kind: 'regex', pattern: what });
    const fresh = remote.constrain(vocabulary, { kind: 'choices', choices: ['no'] });
    await assert.rejects(culprit, { code: 'GRAMMAR_TOO_COSTLY' });
    const rest = tokenizer.encode('7}', { addSpecial: false });
    const masks = await masksOf(other, rest, size);
    assert.ok(other.isComplete || masks.length > 0);
    using choice = await fresh;
    await masksOf(choice, tokenizer.encode('no', { addSpecial: false }), size);
    assert.ok(choice.isComplete);
  });
}
