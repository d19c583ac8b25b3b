import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { build, type Metafile } from 'esbuild';
import { PROJECT_ROOT } from '../support/project.ts';

/** What a page's bundler starts from. */
const ENTRIES = ['index', 'engine-worker', 'cpu-worker', 'decode-worker'];

test('nothing that Node alone has can be reached from the browser’s entries, and the API only when it is asked for', async () => {
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: ENTRIES.map((name) => join(PROJECT_ROOT, `dist/src/browser/${name}.js`)),
    outdir: 'unwritten',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    packages: 'external',
    external: ['node:*'],
    logLevel: 'silent',
  });
  const files = Object.keys(metafile.inputs);
  assert.ok(files.length > 100, `${files.length} files`);
  assert.deepEqual(
    files.filter((file) => /^dist\/src\/(?:node|cli|devices\/hip-cuda)\//.test(file)),
    [],
  );
  assert.deepEqual(packagesOf(metafile, files), ['hash-wasm', 'hono', 'zod']);
  const early = loadedAtOnce(metafile);
  assert.deepEqual(
    early.filter((file) => file.startsWith('dist/src/server/')),
    [],
  );
  assert.deepEqual(packagesOf(metafile, early), ['hash-wasm']);
});

/** The packages that these files import. */
function packagesOf({ inputs }: Metafile, files: readonly string[]): string[] {
  const imports = files.flatMap((file) => inputs[file]?.imports ?? []);
  return [...new Set(imports.filter(({ external }) => external).map(({ path }) => path))].sort();
}

/** The files in the entries' bundles and in all that these import without being asked. */
function loadedAtOnce({ outputs }: Metafile): string[] {
  const wanted = Object.keys(outputs).filter((name) =>
    outputs[name]?.entryPoint?.startsWith('dist/src/browser/'),
  );
  const loaded = new Set(wanted);
  for (const name of loaded) {
    for (const { path, kind } of outputs[name]?.imports ?? [])
      if (kind === 'import-statement') loaded.add(path);
  }
  return [...loaded].flatMap((name) => Object.keys(outputs[name]?.inputs ?? {}));
}
