// Runs the compiled tests with node's own runner: `node scripts/test.mjs [part of a path ...]`, all of them without one but
// those in `full/` and `large/`, which take long.
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { unpackChromium } from './unpack-chromium.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tests = join(root, 'dist/tests');
const wanted = process.argv.slice(2);
const OPT_IN = ['full/', 'large/'];
const isWanted = (file) => {
  const folder = OPT_IN.find((name) => file.startsWith(name));
  if (folder !== undefined) return wanted.some((part) => part.startsWith(folder) && file.includes(part));
  return wanted.length === 0 || wanted.some((part) => file.includes(part));
};
// Files that take long begin first, so that none is left to run alone.
const LONGEST_FIRST = [
  'full/package',
  'full/native-packages',
  'full/dealt-native-packages',
  'full/webgpu-',
  'full/contract-',
  'full/dealt-',
  'full/guide',
  'webgpu/contract',
  'hip-cuda/contract',
  'webgpu/goldens',
  'webgpu/families',
  'devices/cpu.test',
  'browser/',
  'webgpu/',
  'hip-cuda/',
  'goldens/',
  'server/',
  'cli/',
  'node/',
  'engine/',
];
const turnOf = (file) => LONGEST_FIRST.findIndex((part) => file.startsWith(part)) + 1 || Infinity;
const files = readdirSync(tests, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js') && isWanted(file))
  .sort()
  .sort((a, b) => (turnOf(a) === turnOf(b) ? 0 : turnOf(a) - turnOf(b)))
  .map((file) => join(tests, file));
if (files.length === 0) {
  console.error(`no test file matches: ${wanted.join(' ')}`);
  process.exit(1);
}
// One more than there are processors: tests wait, for children, for timers and for each other's answers.
const concurrency = availableParallelism() + 1;
const chromium = await unpackChromium(root);
// The processes of the tests find SwiftShader as their only Vulkan driver, and the browser.
if (chromium) {
  process.env.LD_LIBRARY_PATH = [chromium, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  process.env.VK_DRIVER_FILES = join(chromium, 'vk_swiftshader_icd.json');
  process.env.ROCMFORGE_TEST_CHROMIUM = chromium;
}
// The tests' processes get this one's own options. Of the CPU's kernels a test calls few: compiled when they are called, as newer
// versions of Node do, they take less than half a second of each process's time.
for (const option of ['--enable-source-maps', '--wasm-lazy-compilation']) {
  if (!process.execArgv.includes(option)) process.execArgv.push(option);
}
// Of the files that the command line is given, Node makes an order of its own.
// A file that hangs fails instead of holding the others' results for ever.
run({ files, concurrency, timeout: 20 * 60_000 })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
