// Runs the compiled tests with node's own runner: `node scripts/test.mjs [part of a path ...]`, all of them without one but
// those in `full/` and `large/`, which take long.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
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
const files = readdirSync(tests, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js') && isWanted(file))
  .sort()
  .map((file) => join(tests, file));
if (files.length === 0) {
  console.error(`no test file matches: ${wanted.join(' ')}`);
  process.exit(1);
}
// Node leaves a core to itself, which on two cores is half of them.
const concurrency = Math.max(2, availableParallelism() - 1);
const chromium = await unpackChromium(root);
// A process finds SwiftShader as its only Vulkan driver, and tests find the browser. `LD_LIBRARY_PATH` is read when a process
// starts, so that a running one cannot set it for itself.
const environment = chromium && {
  LD_LIBRARY_PATH: [chromium, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
  VK_DRIVER_FILES: join(chromium, 'vk_swiftshader_icd.json'),
  ROCMFORGE_TEST_CHROMIUM: chromium,
};
const run = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', `--test-concurrency=${concurrency}`, '--test-reporter=spec', ...files],
  {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  },
);
process.exit(run.status ?? 1);
