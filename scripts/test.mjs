// Runs the compiled tests with node's own runner: `node scripts/test.mjs [part of a path ...]`, all of them without one but
// those in `full/`, which take long.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tests = join(dirname(fileURLToPath(import.meta.url)), '../dist/tests');
const wanted = process.argv.slice(2);
const isWanted = (file) =>
  wanted.length === 0 ? !file.startsWith('full/') : wanted.some((part) => file.includes(part));
const files = readdirSync(tests, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js') && isWanted(file))
  .sort()
  .map((file) => join(tests, file));
if (files.length === 0) {
  console.error(`no test file matches: ${wanted.join(' ')}`);
  process.exit(1);
}
const run = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-reporter=spec', ...files],
  {
    stdio: 'inherit',
  },
);
process.exit(run.status ?? 1);
