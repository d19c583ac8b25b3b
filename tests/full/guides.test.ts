import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { loadModel } from '../../src/index.ts';
import { compileStrictly, examplesIn, folderInPackage } from '../support/guide-examples.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

const run = promisify(execFile);

const examplesOf = (page: string): string[] =>
  examplesIn(readFileSync(join(PROJECT_ROOT, page), 'utf8'), 'ts');

/** The TypeScript examples of each page. */
const GUIDES = {
  readme: examplesOf('README.md'),
  library: examplesOf('docs/library.md'),
  'by-hand': examplesOf('docs/by-hand.md'),
  engine: examplesOf('docs/engine.md'),
  loading: examplesOf('docs/loading.md'),
  migration: examplesOf('docs/migration.md'),
};

/** The most likely token behind a text, as a model that is loaded the usual way finds it. */
async function likeliest(path: string, text: string): Promise<number> {
  await using model = await loadModel(path, { device: 'cpu' });
  const options = { maxTokens: 1, temperature: 0, ignoreEnd: true };
  for await (const { token } of model.generate(text, options)) if (token) return token.id;
  return assert.fail('there is a token');
}

describe('the TypeScript examples compile strictly and run:', () => {
  let folder = '';

  // All by one compiler, which takes longer to start than to check them.
  before(async () => {
    folder = folderInPackage();
    const files = Object.entries(GUIDES).flatMap(([guide, examples]) =>
      examples.map((example, i) => {
        const file = join(folder, `${guide}${i}.mts`);
        writeFileSync(file, example);
        return file;
      }),
    );
    // The AI SDK's declarations name a package that has none.
    const shim = join(folder, 'json-schema.d.ts');
    writeFileSync(
      shim,
      "declare module 'json-schema' { export type JSONSchema7 = object; export type JSONSchema7Definition = object; }\n",
    );
    await compileStrictly(shim, ...files);
    for (const name of ['model', 'small', 'large'])
      writeFileSync(join(folder, `${name}.gguf`), await tinyBytes('Q8_0'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** What each example of a guide prints. */
  async function printed(guide: keyof typeof GUIDES, count: number): Promise<string[]> {
    assert.equal(GUIDES[guide].length, count);
    const outputs: string[] = [];
    for (let i = 0; i < count; i++)
      outputs.push((await run(process.execPath, [`${guide}${i}.mjs`], { cwd: folder })).stdout);
    return outputs;
  }

  test('that of the README', async () => {
    assert.equal(GUIDES.readme.length, 1);
    const example = join(folder, 'readme0.mjs');
    const { stdout, stderr } = await run(process.execPath, [example], { cwd: PROJECT_ROOT });
    assert.match(stdout, /\S[\s\S]*\n\d+ tokens\n$/);
    const [, loaded, total] = /(\d+) of (\d+) bytes\n$/.exec(stderr) ?? [];
    assert.equal(loaded, total, 'progress ends at the end');
  });

  test('those of the guide to working by hand', async () => {
    const [layers = '', streams = '', operator = '', gpu = '', sampling = ''] = await printed('by-hand', 5);
    const lines = layers.trimEnd().split('\n');
    assert.equal(lines.length, TINY.layers + 2);
    assert.equal(lines[0], 'true');
    for (let layer = 0; layer < TINY.layers; layer++) {
      assert.match(lines[1 + layer] ?? '', new RegExp(`^layer ${layer}: [\\d.e-]+ ms, true$`));
    }
    assert.equal(lines.at(-1), `true ${await likeliest(join(folder, 'model.gguf'), 'One, two,')}`);
    assert.equal(streams, 'true 2.5\n8 16\n');
    assert.equal(operator, '0 32 64 96 128 160 192 224\n');
    assert.match(gpu, /^at \d+, in [\d.]+ ms\n$|is no GPU under HIP or CUDA\n$/);
    assert.match(sampling, /^4 bytes a step\n/);
    for (const phase of ['dispatch', 'load', 'submit', 'wait', 'back', 'step', 'gap']) {
      assert.match(sampling, new RegExp(`^${phase}: \\d+ times, [\\d.e-]+ ms$`, 'm'));
    }
  });

  test('the recipes of the library', async () => {
    const [session = '', typed = '', tools = '', text = '', clients, ...more] = await printed('library', 10);
    assert.match(session, /^The capital of France is Paris\.\n2 and 4 messages\nAnd of China\? 2\n$/);
    assert.match(typed, /^true [67]\nboolean\n$/);
    assert.equal(tools, 'weather city,celsius\nuser,assistant,tool,assistant\n');
    assert.equal(text, 'One, two,\ntrue\ntrue\nINFILL_UNSUPPORTED\n');
    assert.equal(clients, 'The capital of France is Paris.\n'.repeat(3));
    const [held = '', likely, left, many, vectors] = more;
    assert.match(held, /^true\n\d\d\n[1-6],[1-6],[1-6]\n$/);
    assert.equal(likely, 'true\n3\n');
    assert.equal(left, 'true\nABORTED\nThe capital of France\n');
    assert.equal(many, '4 true\n');
    assert.equal(vectors, 'true 1\n');
  });

  test('that of the page for those who come from elsewhere', async () => {
    const [session] = await printed('migration', 1);
    assert.match(session ?? '', /^The capital of France is Paris\.\n3\n$/);
  });

  test('that of the page about the engine', async () => {
    const [bytes = '', vectors] = await printed('engine', 2);
    assert.ok(Number(bytes) > 1000, bytes);
    assert.equal(vectors, '16 true\n');
  });

  test('those of the guide to loading', async () => {
    const [shared = '', served = '', byHand = ''] = await printed('loading', 3);
    assert.match(shared, /\n\d+ bytes of weights are on the device\ntrue true\n$/);
    assert.equal(served, 'small 200\nlarge 200\n');
    const elements = TINY.width * TINY.vocabulary;
    assert.match(byHand, new RegExp(`^${elements} true\ntrue false\nready\n\\d+ true\n$`));
  });
});
