import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, statSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { PackedProject } from './packed-project.ts';
import { PROJECT_ROOT } from './project.ts';
import { temporaryFolder } from './temporary.ts';

/** The most that a platform's tarball may have. */
const LIMIT_BYTES = 420_000;
const HERE = `${process.platform}-${process.arch}`;
const ALL = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];

/** The platform of these tests, if it has a package. */
export const OWN_PLATFORM: readonly string[] = ALL.filter((name) => name === HERE);
/** Those that packages are compiled for from another one. */
export const OTHER_PLATFORMS: readonly string[] = ALL.filter((name) => name !== HERE);

/** What `devices` says of the kernels where there is no compiler, and standard error. */
async function kernelsOf(project: PackedProject): Promise<string> {
  const settings = ['CXX=/nowhere', `XDG_CACHE_HOME=${project.folder}/cache`];
  const { code, text } = await project.run('env', [...settings, 'rocmforge', 'devices']);
  assert.equal(code, 0, text);
  return text;
}

/** Declares that packages with the kernels for these platforms are built here, and that the one for this platform is used. */
export function testNativePackages(platforms: readonly string[]): void {
  const { error } = spawnSync('clang++-19', ['--version']);
  const skip = error ? 'clang++-19 is not installed' : false;

  const folder = temporaryFolder({ after });
  const tarballs = (): string[] => {
    if (readdirSync(folder).length === 0) {
      const script = join(PROJECT_ROOT, 'scripts/native-packages.mjs');
      execFileSync(process.execPath, [script, folder, ...platforms, 'rocmforge']);
    }
    return readdirSync(folder).map((name) => join(folder, name));
  };

  test(`kernels for ${platforms.join(', ')} are built here, a tarball each`, { skip }, () => {
    const native = tarballs().filter((path) => path.includes('rocmforge-cpu-'));
    const found = native.map((path) => /rocmforge-cpu-(\w+-\w+)-/.exec(path)?.[1]);
    assert.deepEqual(found.sort(), [...platforms].sort());
    for (const path of native) assert.ok(statSync(path).size < LIMIT_BYTES, path);
  });

  test(
    'an empty folder without a compiler runs the native kernels of its package, and WebAssembly where they are damaged',
    { skip: skip || (platforms.includes(HERE) ? false : 'no package is for this platform') },
    async (t) => {
      const isOwn = (path: string) => path.includes(`cpu-${HERE}`) || /^rocmforge-\d/.test(basename(path));
      const own = tarballs().filter(isOwn);
      assert.equal(own.length, 2);
      const project = await PackedProject.of(t, own);
      assert.match(await kernelsOf(project), /kernels {2}native/);
      const libraries = join(project.folder, 'node_modules/@rocmforge', `cpu-${HERE}`);
      for (const name of readdirSync(libraries).filter((each) => /\.(?:so|dylib|dll)$/.test(each))) {
        truncateSync(join(libraries, name), 1000);
      }
      const text = await kernelsOf(project);
      assert.match(text, /kernels {2}wasm/);
    },
  );
}
