import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { BenchRecord } from '../src/cli/bench-record.ts';
import { ALL_FORMATS } from '../src/formats/index.ts';
import type { SavedGrid, SpeedRow } from '../tests/support/speed-page.ts';

// Speeds over a grid of shapes and formats, of files of random weights: `npm run bench:grid -- --device cuda|webgpu [name part
// ...] [--rounds 2] [--save grid.json] [--compare grid.json] [--seconds 600]`. Without names, every row; with `--compare`,
// each figure's ratio to that of a saved grid; rows that would begin after `--seconds` are left out, and named. `--peer "program
// argument"` measures each file again with another program right after, which takes the file and the options of `rocmforge bench`
// and prints its `--json`: bench/peer/speed.cc is llama.cpp. docs/speed.md is made of what `--save tests/fixtures/speed.json` writes,
// by `npm run docs`.

const CLI = fileURLToPath(new URL('../src/cli/rocmforge.cjs', import.meta.url));

/** A model, and what is measured on it. */
interface GridRow {
  readonly name: string;
  /** The arguments of `rocmforge synth`. */
  readonly model: readonly string[];
  /** The arguments of `rocmforge bench`, of each run of it. */
  readonly tests: readonly (readonly string[])[];
}

const USUAL = [['-p', '512', '-n', '64', '--parallel', '8']];
const MANY = [['-p', '2048', '-n', '128', '--parallel', '64']];
const HALF_OF_8B = ['llama-3-8b', '--layers', '16'];
/** Formats of one number per element that matrices are rarely stored in. */
const RARE = /^(?:F64|F32|I\d+)$/;

const GRID: readonly GridRow[] = [
  row('7b q4_0', ['llama-2-7b', '-f', 'q4_0']),
  row('8b q4_k_m', ['llama-3-8b', '-f', 'q4_k_m']),
  row('qwen3 8b q4_k_m', ['qwen3-8b', '-f', 'q4_k_m']),
  row('13b q4_k_m', ['llama-2-13b', '-f', 'q4_k_m']),
  row('30b-a3b q4_k', ['qwen3-30b-a3b', '-f', 'q4_k', '--output-format', 'q6_k']),
  row('gpt-oss-20b mxfp4', ['gpt-oss-20b', '-f', 'mxfp4', '--output-format', 'q8_0']),
  row('qwen3.6 35b-a3b q4_k_m', ['qwen3.6-35b-a3b', '-f', 'q4_k_m']),
  row('deepseek v2 lite q4_k_m', ['deepseek-v2-lite', '-f', 'q4_k_m']),
  row('gemma 4 26b-a4b q4_k_m', ['gemma-4-26b-a4b', '-f', 'q4_k_m']),
  ...ALL_FORMATS.filter(({ name }) => !RARE.test(name)).map(({ name }): GridRow => {
    const format = name.toLowerCase();
    return { name: `half 8b ${format}`, model: [...HALF_OF_8B, '-f', format], tests: USUAL };
  }),
  row('mixtral 8x7b q4_k_m', ['mixtral-8x7b', '-f', 'q4_k_m']),
];

/** What is measured through WebGPU, which has fewer kernels to tune: numbers of sequences that each of them is for. */
const WEBGPU_GRID: readonly GridRow[] = [
  row('7b q4_0', ['llama-2-7b', '-f', 'q4_0'], [batchOf(16), batchOf(64)]),
  row('8b q4_k', ['llama-3-8b', '-f', 'q4_k', '--output-format', 'q6_k'], [batchOf(16), batchOf(64)]),
  row('30b-a3b q4_k', ['qwen3-30b-a3b', '-f', 'q4_k', '--output-format', 'q6_k'], USUAL),
];

function row(name: string, model: readonly string[], tests: GridRow['tests'] = MANY): GridRow {
  return { name, model, tests };
}

/** A prompt, one sequence, and several. */
function batchOf(sequences: number): readonly string[] {
  return ['-p', '512', '-n', '64', '--parallel', String(sequences)];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    device: { type: 'string', default: 'auto' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '3600' },
    save: { type: 'string' },
    compare: { type: 'string' },
    peer: { type: 'string' },
  },
});
const [peer, ...peerArguments] = values.peer?.split(' ') ?? [];
const before =
  values.compare === undefined ? undefined : (JSON.parse(readFileSync(values.compare, 'utf8')) as SavedGrid);
const ends = performance.now() + 1000 * Number(values.seconds);
const rows: Record<string, SpeedRow> = {};
const grid = values.device.startsWith('webgpu') ? WEBGPU_GRID : GRID;
for (const of of grid.filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
)) {
  if (performance.now() > ends) {
    console.log(`| ${of.name} | left out: no time |`);
    continue;
  }
  const { device, ...measured } = measure(of);
  rows[of.name] = measured;
  console.log(rowText(of.name, measured, before?.rows[of.name]));
  const saved: SavedGrid = { device, date: new Date().toISOString().slice(0, 10), rows };
  if (values.save !== undefined) writeFileSync(values.save, `${JSON.stringify(saved, null, 2)}\n`);
}

/** Makes the file, measures in a process of its own, and removes the file. */
function measure({ model, tests }: GridRow): SpeedRow & { device: string } {
  const folder = mkdtempSync(join(tmpdir(), 'rocmforge-grid-'));
  try {
    const path = join(folder, 'model.gguf');
    run(['synth', ...model, '-o', path, '--json']);
    const runs = tests.map((args): SpeedRow & { device: string } => {
      const text = run(['bench', '-m', path, '-d', values.device, ...args, '-r', values.rounds, '--json']);
      const { results, device, modelBytes } = JSON.parse(text) as BenchRecord;
      const others = peer === undefined ? undefined : peerSpeeds(peer, [path, ...args, '-r', values.rounds]);
      return { device, modelBytes, speeds: speedsOf(results), ...(others && { peer: others }) };
    });
    return runs.reduce(joined);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Two runs as one; what both have measured is the first one's. */
function joined<T extends SpeedRow>(first: T, second: T): T {
  const peers = second.peer && { peer: { ...second.peer, ...first.peer } };
  return { ...first, speeds: { ...second.speeds, ...first.speeds }, ...peers };
}

/** The other program's speeds; undefined where it ends without having measured, because it lacks the format or the shape. */
function peerSpeeds(program: string, args: readonly string[]): Record<string, number> | undefined {
  try {
    const text = execFileSync(program, [...peerArguments, ...args], { encoding: 'utf8' });
    return speedsOf((JSON.parse(text) as Pick<BenchRecord, 'results'>).results);
  } catch (error) {
    console.error(`${program}: ${String(error)}`);
    return undefined;
  }
}

function speedsOf(results: readonly { readonly test: string; readonly median: number }[]) {
  return Object.fromEntries(results.map(({ test, median }) => [test, Number(median.toPrecision(4))]));
}

function run(args: readonly string[]): string {
  const stdio = ['ignore', 'pipe', 'ignore'] as const;
  return execFileSync(process.execPath, [CLI, ...args], { encoding: 'utf8', stdio: [...stdio] });
}

/** A row of a Markdown table: the tests, their speeds and their ratios to what was measured before and to another program's. */
function rowText(name: string, { speeds, peer: others }: SpeedRow, old?: SpeedRow): string {
  const cells = Object.entries(speeds).map(([test, speed]) => {
    const ratios = [old?.speeds[test], others?.[test]].map((of) =>
      of === undefined ? '' : ` (${(speed / of).toFixed(2)})`,
    );
    return `${test} ${speed}${ratios.join('')}`;
  });
  return `| ${[name, ...cells].join(' | ')} |`;
}
