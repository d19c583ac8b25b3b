import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { loadModel } from '../../src/index.ts';
import { writeControl } from '../support/control-vectors.ts';
import { compileStrictly, examplesOf, pagesRunBy } from '../support/guide-examples.ts';
import { writeAdapter } from '../support/lora-fixtures.ts';
import { unpackProject } from '../support/packed-project.ts';
import { startCli } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { thinkingBytes } from '../support/thinking-model.ts';
import { TINY, tinyBytes } from '../support/tiny-model.ts';

const run = promisify(execFile);

/** The TypeScript examples of each page, by its name. */
const GUIDES = new Map(
  pagesRunBy('full/guides', 'ts').map((page) => [basename(page, '.md'), examplesOf(page, 'ts')] as const),
);

/** The most likely token behind a text, as a model that is loaded the usual way finds it. */
async function likeliest(path: string, text: string): Promise<number> {
  await using model = await loadModel(path, { device: 'cpu' });
  const options = { maxTokens: 1, temperature: 0, ignoreEnd: true };
  for await (const { token } of model.generate(text, options)) if (token) return token.id;
  return assert.fail('there is a token');
}

/** A server with the bundled model; its host and port. */
async function served(t: TestContext): Promise<string> {
  const { process: server } = startCli(t, 'serve', '--port', '0');
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  return /http:\/\/(\S+)/.exec(line.toString())?.[1] ?? assert.fail(line.toString());
}

describe('the TypeScript examples compile strictly and run:', () => {
  const folder = temporaryFolder({ after });

  // All by one compiler, which takes longer to start than to check them.
  before(async () => {
    await unpackProject(folder);
    const files = [...GUIDES].flatMap(([guide, examples]) =>
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
    for (const name of ['model', 'small', 'large', 'base'])
      writeFileSync(join(folder, `${name}.gguf`), await tinyBytes('Q8_0'));
    writeFileSync(join(folder, 'thinking.gguf'), await thinkingBytes());
    for (const [seed, name] of ['happy', 'formal'].entries())
      await writeControl(join(folder, `${name}.gguf`), TINY.width, seed);
    for (const [seed, name] of ['law', 'terse'].entries()) {
      const shape = { rank: 4, alpha: 4, targets: /attn_q/, seed };
      await writeAdapter(join(folder, `${name}-lora.gguf`), shape, join(folder, 'base.gguf'));
    }
  });

  const seen = new Set<string>();
  after(() => assert.deepEqual([...seen].sort(), [...GUIDES.keys()].sort(), 'each guide is run'));

  /** What each example of a guide prints. */
  async function printed(guide: string, count: number): Promise<string[]> {
    seen.add(guide);
    assert.equal(GUIDES.get(guide)?.length, count);
    const outputs: string[] = [];
    for (let i = 0; i < count; i++)
      outputs.push((await run(process.execPath, [`${guide}${i}.mjs`], { cwd: folder })).stdout);
    return outputs;
  }

  test('that of the README', async () => {
    seen.add('README');
    assert.equal(GUIDES.get('README')?.length, 1);
    const { stdout, stderr } = await run(process.execPath, ['README0.mjs'], { cwd: folder });
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

  test('those of the page for those who come from elsewhere', async (t) => {
    const [session] = await printed('migration', 1);
    assert.match(session ?? '', /^The capital of France is Paris\.\n3\n$/);
    const examples = examplesOf('docs/migration.md', 'js');
    assert.equal(examples.length, 1);
    const address = await served(t);
    writeFileSync(join(folder, 'ollama.mjs'), examples[0]?.replace('127.0.0.1:8080', address) ?? '');
    assert.match((await run(process.execPath, ['ollama.mjs'], { cwd: folder })).stdout, /\w/);
  });

  test('those of the page about adapters and taps', async () => {
    const [adapted = '', turned = '', tapped = ''] = await printed('adapters', 3);
    assert.ok(turned.length > 1);
    assert.ok(adapted.length > 0);
    assert.match(tapped, /^true\n/);
  });

  test('that of the page about tools', async () => {
    const [thought = ''] = await printed('tools', 1);
    assert.match(thought, /\nafter [1-9]\d* characters of reasoning\n$/);
  });

  test('that of the page about grammars', async () => {
    const [city = ''] = await printed('grammar', 1);
    assert.match(city, /^\S.{0,19}\n$/);
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
