// Compiles the sources into dist/: the CPU kernels with AssemblyScript, everything else with tsc, the command line, and the page.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildBin } from './build-bin.mjs';
import { buildWeb } from './build-web.mjs';

const require = createRequire(import.meta.url);

/** The two builds of the same kernels: `dot.ts` inlines the relaxed dot product where the feature is on. */
const VARIANTS = [
  { name: 'relaxed', features: 'simd,threads,bulk-memory,relaxed-simd' },
  { name: 'baseline', features: 'simd,threads,bulk-memory' },
];

/** Writes what the kernels know about tensor formats, out of the formats' compiled descriptions. */
async function writeFormats(root) {
  const generator = pathToFileURL(join(root, 'dist/src/devices/cpu/format-text.js')).href;
  const { formatExportsText, formatsText } = await import(generator);
  const kernels = join(root, 'src/devices/cpu/kernels');
  writeFileSync(join(kernels, 'formats.ts'), formatsText());
  writeFileSync(join(kernels, 'format-exports.ts'), formatExportsText());
}

/** A WebAssembly module of the sources in a folder: its file in dist/ without `.wasm`, and what the compiler is told besides. */
function assembleOnce(root, folder, out, modules) {
  const sources = join(root, folder);
  const { version } = require('assemblyscript/package.json');
  const hash = createHash('sha256')
    .update(version)
    .update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of readdirSync(sources, { recursive: true }).sort()) {
    if (String(file).endsWith('.ts'))
      hash.update(`${file}\n`).update(readFileSync(join(sources, String(file))));
  }
  const digest = hash.digest('hex');
  const stamp = join(root, out, 'kernels.sha256');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  mkdirSync(join(root, out), { recursive: true });
  const asc = join(dirname(require.resolve('assemblyscript/package.json')), 'bin/asc.js');
  for (const { name, entry, options } of modules) {
    const all = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', ...options];
    const words = [asc, join(sources, entry), '-o', join(root, out, `${name}.wasm`), ...all];
    execFileSync(process.execPath, words, { stdio: 'inherit' });
  }
  writeFileSync(stamp, digest);
}

async function buildKernels(root) {
  await writeFormats(root);
  const memory = ['--importMemory', '--sharedMemory', '--initialMemory', '1', '--maximumMemory', '65535'];
  const modules = VARIANTS.map(({ name, features }) => ({
    name: `kernels.${name}`,
    entry: 'index.ts',
    options: ['--enable', features, ...memory],
  }));
  assembleOnce(root, 'src/devices/cpu/kernels', 'dist/src/devices/cpu', modules);
  // Its addresses are fixed, within one page.
  const fits = ['--enable', 'simd', '--initialMemory', '1', '--maximumMemory', '1', '--memoryBase', '8192'];
  assembleOnce(root, 'src/formats/encoding/kernels', 'dist/src/formats/encoding', [
    { name: 'fits', entry: 'fits.ts', options: fits },
  ]);
}

/** The ends of what tsc makes of one source. */
const COMPILED = /(?:\.d)?\.([cm]?)[jt]s(?:\.map)?$/;

/** What the build makes of no single source. */
const MADE = /^(?:kernels\.(?:\w+\.wasm|sha256)|fits\.wasm)$/;

/** Removes what is left in dist/ of sources that are gone, of another branch perhaps: tests would run it. */
function removeOrphans(root, folder) {
  if (!existsSync(join(root, 'dist', folder))) return;
  for (const entry of readdirSync(join(root, 'dist', folder), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || MADE.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const source = relative(join(root, 'dist'), path).replace(COMPILED, '.$1ts');
    if (!existsSync(join(root, source))) rmSync(path);
  }
}

/** Compiles everything; throws when a compiler refuses, its words on standard error. */
export async function compileAll(root) {
  const dist = join(root, 'dist');
  for (const folder of ['src', 'tests', 'bench']) removeOrphans(root, folder);
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', root], { stdio: 'inherit' });
  await buildKernels(root);
  // Kernel texts are read when a device is opened, from beside the compiled code.
  for (const kernels of ['src/devices/hip-cuda/kernels', 'src/devices/cpu/native/kernels']) {
    cpSync(join(root, kernels), join(dist, kernels), { recursive: true });
  }
  await buildBin();
  await buildWeb();
}
