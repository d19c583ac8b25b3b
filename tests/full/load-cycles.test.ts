import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadModel } from '../../src/node/load-model.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import { checkCycles } from '../support/load-cycles.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { tinyBytes } from '../support/tiny-model.ts';

const PROMPT = [1, 40, 41, 42, 43];
const GREEDY = { temperature: 0, maxTokens: 4, ignoreEnd: true } as const;

/** Descriptors and threads of this process, where the system tells. */
function held(): { descriptors: number; threads: number } {
  if (process.platform !== 'linux') return { descriptors: 0, threads: 0 };
  const count = (path: string) => readdirSync(path).length;
  return { descriptors: count('/proc/self/fd'), threads: count('/proc/self/task') };
}

for (const options of [{}, { weights: 'f32' }, { load: 'lazy' }] as const) {
  test(`a hundred models come and go without growth: ${JSON.stringify(options)}`, async (t) => {
    const path = join(temporaryFolder(t), 'tiny.gguf');
    writeFileSync(path, await tinyBytes('Q4_0'));
    const life = async () => {
      await using model = await loadModel(path, { ...options, device: 'cpu', threads: 2, context: 64 });
      return await model.generate(PROMPT, GREEDY).text();
    };
    const text = await life();
    for (let i = 0; i < 10; i++) await life();
    const before = held();
    const { rss } = process.memoryUsage();
    for (let i = 0; i < 90; i++) assert.equal(await life(), text);
    assert.deepEqual(held(), before);
    const grown = (process.memoryUsage().rss - rss) / 2 ** 20;
    assert.ok(grown < 200, `${grown} MiB more`);
  });
}

test('eight models of four files are loaded at once', async (t) => {
  const folder = temporaryFolder(t);
  const paths = await Promise.all(
    ['F32', 'Q4_0', 'Q8_0', 'BF16'].map(async (format) => {
      const path = join(folder, `${format}.gguf`);
      writeFileSync(path, await tinyBytes(format));
      return path;
    }),
  );
  const answer = async (path: string) => {
    await using model = await loadModel(path, { device: 'cpu', threads: 1, context: 64 });
    return await model.generate(PROMPT, GREEDY).text();
  };
  const alone: string[] = [];
  for (const path of paths) alone.push(await answer(path));
  for (let round = 0; round < 5; round++) {
    assert.deepEqual(await Promise.all([...paths, ...paths].map(answer)), [...alone, ...alone]);
  }
});

test('a hundred models come and go on one device, eight at once', async () => {
  await using device = await openCpu({ threads: 2 });
  await checkCycles({ device, loads: 100, files: 4, rounds: 5 });
});
