import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { PackedProject } from '../support/packed-project.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** The most that a platform's tarball may have. */
const LIMIT_BYTES = 420_000;
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];
const HERE = `cpu-${process.platform}-${process.arch}`;

const { error } = spawnSync('clang++-19', ['--version']);
const skip = error ? 'clang++-19 is not installed' : false;

const folder = temporaryFolder({ after });
const tarballs = (): string[] => {
  if (readdirSync(folder).length === 0) {
    execFileSync(process.execPath, [join(PROJECT_ROOT, 'scripts/native-packages.mjs'), folder]);
  }
  return readdirSync(folder).map((name) => join(folder, name));
};

/** What `devices` says of the kernels where there is no compiler, and standard error. */
async function kernelsOf(project: PackedProject): Promise<string> {
  const settings = ['CXX=/nowhere', `XDG_CACHE_HOME=${project.folder}/cache`];
  const { code, text } = await project.run('env', [...settings, 'rocmforge', 'devices']);
  assert.equal(code, 0, text);
  return text;
}

test('kernels for five platforms are built here, a tarball each', { skip }, () => {
  const native = tarballs().filter((path) => path.includes('rocmforge-cpu-'));
  const platforms = native.map((path) => /rocmforge-cpu-(\w+-\w+)-/.exec(path)?.[1]);
  assert.deepEqual(platforms.sort(), PLATFORMS);
  for (const path of native) assert.ok(statSync(path).size < LIMIT_BYTES, path);
});

test(
  'an empty folder without a compiler runs the native kernels of its package, and WebAssembly where they are damaged',
  { skip: skip || (PLATFORMS.includes(HERE.slice(4)) ? false : 'no package is for this platform') },
  async (t) => {
    const own = tarballs().filter((path) => path.includes(HERE) || /^rocmforge-\d/.test(basename(path)));
    assert.equal(own.length, 2);
    const project = await PackedProject.of(t, own);
    assert.match(await kernelsOf(project), /kernels {2}native/);
    const libraries = join(project.folder, 'node_modules/@rocmforge', HERE);
    for (const name of readdirSync(libraries).filter((each) => /\.(?:so|dylib|dll)$/.test(each))) {
      truncateSync(join(libraries, name), 1000);
    }
    const text = await kernelsOf(project);
    assert.match(text, /kernels {2}wasm/);
  },
);
