import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { GgufFile, type GgufPlan, loadTensorBytes, planSplits, splitPartName } from '../../src/gguf/index.ts';
import type { SourceResolver } from '../../src/io/index.ts';
import { openGguf } from '../../src/node/index.ts';
import { CountingSource } from '../fuzz/counting-source.ts';
import { dataOf, fileOf, SMALL_PLAN } from '../support/gguf-files.ts';
import { openDescriptors } from '../support/open-handles.ts';
import { temporaryFolder } from '../support/temporary.ts';

const PARTS = planSplits(SMALL_PLAN, 'dir/model', { maxTensors: 12 });
const files = new Map<string, Uint8Array>();
for (const { name, plan } of PARTS) files.set(name, await fileOf(plan));
const NAMES = [...files.keys()];

class Opened {
  readonly sources: CountingSource[] = [];

  constructor(readonly content: ReadonlyMap<string, Uint8Array> = files) {}

  readonly resolve = async (name: string): Promise<CountingSource> => {
    const bytes = this.content.get(name);
    if (!bytes) throw new Error('no such file');
    const source = new CountingSource(bytes, name);
    this.sources.push(source);
    return source;
  };

  open(index: number, resolveSibling: SourceResolver | undefined = this.resolve): Promise<GgufFile> {
    return this.resolve(NAMES[index] ?? '').then((source) => GgufFile.open(source, { resolveSibling }));
  }

  checkAllDisposed(): void {
    for (const source of this.sources) assert.equal(source.disposals, 1, source.name);
  }
}

/** The parts with one file replaced by what another plan gives. */
async function replaced(
  index: number,
  change: (plan: GgufPlan) => GgufPlan,
): Promise<Map<string, Uint8Array>> {
  const part = PARTS[index];
  assert.ok(part);
  return new Map(files).set(part.name, await fileOf(change(part.plan)));
}

function withValue(plan: GgufPlan, key: string, value: number): GgufPlan {
  const others = [...plan.metadata].filter(([k]) => k !== key);
  return { ...plan, metadata: [...others, [key, { type: 'i32', value }]] };
}

test('parts are named by number and count', () => {
  assert.deepEqual(NAMES, [
    'dir/model-00001-of-00003.gguf',
    'dir/model-00002-of-00003.gguf',
    'dir/model-00003-of-00003.gguf',
  ]);
  assert.equal(
    splitPartName('https://host/m-00001-of-00009.gguf?download=true', 8, 9),
    'https://host/m-00009-of-00009.gguf?download=true',
  );
  assert.equal(splitPartName('model.gguf', 0, 3), undefined);
  assert.equal(splitPartName('model-1-of-3.gguf', 0, 3), undefined);
});

test('a split model opens by any of its parts, with all tensors and the metadata of the first', async () => {
  for (const index of NAMES.keys()) {
    const opened = new Opened();
    const file = await opened.open(index);
    assert.equal(file.name, NAMES[0]);
    assert.equal(file.parts.length, 3);
    assert.equal(file.metadata.string('general.architecture'), 'llama');
    assert.deepEqual(
      file.tensors.map((tensor) => tensor.name),
      SMALL_PLAN.tensors.map((tensor) => tensor.name),
    );
    for (const tensor of file.tensors) assert.deepEqual(await loadTensorBytes(tensor), dataOf(tensor));
    await file.dispose();
    opened.checkAllDisposed();
  }
});

test('missing, cyclic and foreign parts are typed errors that leave nothing open', async () => {
  const without = new Map([...files].filter(([name]) => name !== NAMES[2]));
  const cases = [
    { what: 'a missing part', content: without, code: 'GGUF_SPLIT_MISSING' },
    {
      what: 'the first part again in place of the second',
      content: new Map([...files, [NAMES[1] ?? '', files.get(NAMES[0] ?? '') ?? new Uint8Array()]]),
      code: 'GGUF_SPLIT_MISMATCH',
    },
    {
      what: 'another number of parts',
      content: await replaced(1, (plan) => withValue(plan, 'split.count', 4)),
      code: 'GGUF_SPLIT_MISMATCH',
    },
    {
      what: 'a number outside the count',
      content: await replaced(0, (plan) => withValue(plan, 'split.no', 3)),
      code: 'GGUF_SPLIT_MISMATCH',
    },
    {
      what: 'an absurd count',
      content: await replaced(0, (plan) => withValue(plan, 'split.count', 2 ** 30)),
      code: 'GGUF_SPLIT_MISMATCH',
    },
    {
      what: 'a count that no folder holds',
      content: await replaced(0, (plan) => withValue(plan, 'split.count', 65535)),
      code: 'GGUF_SPLIT_MISSING',
    },
    {
      what: 'a tensor too few',
      content: await replaced(0, (plan) => withValue(plan, 'split.tensors.count', 99)),
      code: 'GGUF_SPLIT_MISMATCH',
    },
    {
      what: 'a tensor in two parts',
      content: await replaced(1, (plan) => ({ ...plan, tensors: SMALL_PLAN.tensors.slice(0, 1) })),
      code: 'GGUF_DUPLICATE',
    },
  ];
  for (const { what, content, code } of cases) {
    const opened = new Opened(content);
    await assert.rejects(opened.open(0), { code }, what);
    opened.checkAllDisposed();
  }
});

test('a resolver that leads back to the opened source is a mismatch', async () => {
  const source = new CountingSource(files.get(NAMES[0] ?? '') ?? new Uint8Array(), NAMES[0]);
  const opening = GgufFile.open(source, { resolveSibling: async () => source });
  await assert.rejects(opening, { code: 'GGUF_SPLIT_MISMATCH' });
  assert.equal(source.disposals, 1);
});

test('a part alone says what it lacks', async () => {
  const bytes = files.get(NAMES[0] ?? '') ?? new Uint8Array();
  const noResolver = GgufFile.open(new CountingSource(bytes, NAMES[0]));
  await assert.rejects(noResolver, { code: 'GGUF_SPLIT_MISSING', message: /resolveSibling/ });
  const renamed = GgufFile.open(new CountingSource(bytes, 'model.gguf'), {
    resolveSibling: new Opened().resolve,
  });
  await assert.rejects(renamed, { code: 'GGUF_SPLIT_MISSING', message: /is not named/ });
});

test('openGguf finds the parts beside the file and closes them all', async (t) => {
  const folder = temporaryFolder(t);
  const paths = NAMES.map((name) => join(folder, name.slice('dir/'.length)));
  for (const [index, path] of paths.entries()) writeFileSync(path, files.get(NAMES[index] ?? '') ?? '');
  for (const mmap of [true, false]) {
    const file = await openGguf(paths[1] ?? '', { mmap });
    assert.equal(file.tensors.length, SMALL_PLAN.tensors.length);
    for (const tensor of file.tensors) {
      assert.deepEqual(new Uint8Array(await loadTensorBytes(tensor)), dataOf(tensor));
    }
    await file.dispose();
    for (const path of paths) assert.equal(openDescriptors(path) ?? 0, 0);
  }
});
