import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { PROJECT_ROOT } from '../support/project.ts';

/** What a page's bundler starts from. */
const ENTRIES = ['index', 'engine-worker', 'cpu-worker', 'decode-worker'];

test('nothing that Node alone has can be reached from the browser’s entries', async () => {
  const { metafile } = await build({
    absWorkingDir: PROJECT_ROOT,
    entryPoints: ENTRIES.map((name) => join(PROJECT_ROOT, `dist/src/browser/${name}.js`)),
    outdir: 'unwritten',
    bundle: true,
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
    files.filter((file) => /^dist\/src\/(?:node|cli|server|devices\/hip-cuda)\//.test(file)),
    [],
  );
  const packages = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  );
  assert.deepEqual([...new Set(packages)].sort(), ['hash-wasm']);
});
