import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { casesIn, reportPage, type TestCase, withTable } from './llama-server-tests/report.ts';
import { writeStandIns } from './llama-server-tests/stand-ins.ts';

// Runs llama.cpp's server tests against `rocmforge serve`: `npm run test:llama-server -- --source <llama.cpp>
// [--models <folder>] [--python <program>] [--port 8080] [--seconds 120] [--page <file>] [file ...]`. The tests are
// those of the given sources, unchanged: a program takes llama-server's place and maps its flags, and models made here
// take the place of the downloads (`stand-ins.ts`). They need pytest with requests, aiohttp, filelock, numpy, openai and
// prometheus-client. `--models` is a folder with stories260K-f32.gguf and stories15M-q4_0.gguf, or several, separated
// as in PATH. With
// `--page`, the table of results is written there: of all JUnit reports in the folder `--results`, which keeps them; with
// `--summary docs/server.md`, that page's table by file is replaced. File names that match nothing run nothing.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    source: { type: 'string' },
    models: { type: 'string', default: '../shared/models/test-only:../shared/models/bundle' },
    python: { type: 'string', default: 'python3' },
    port: { type: 'string', default: '8080' },
    seconds: { type: 'string', default: '120' },
    cases: { type: 'string' },
    results: { type: 'string' },
    page: { type: 'string' },
    summary: { type: 'string' },
  },
});
if (values.source === undefined) throw new Error('--source is the folder of llama.cpp');
const tests = join(resolve(values.source), 'tools/server/tests');
const work = await mkdtemp(join(tmpdir(), 'llama-server-tests-'));
const reports = resolve(values.results ?? work);

/** The file of this name in one of the folders with models. */
async function modelFile(name: string): Promise<string> {
  for (const folder of values.models.split(delimiter)) {
    const names = await readdir(folder).catch((): string[] => []);
    if (names.includes(name)) return resolve(folder, name);
  }
  throw new Error(`there is no ${name} in ${values.models}`);
}

/** Writes the program that stands in for llama-server, and returns its path. */
async function writeServer(): Promise<string> {
  const path = join(work, 'llama-server');
  const program = fileURLToPath(new URL('llama-server-tests/llama-server.js', import.meta.url));
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  await chmod(path, 0o755);
  return path;
}

/** Runs the cases of a file; their results are its JUnit report. */
async function run(file: string, server: string): Promise<void> {
  const result = join(reports, `${file}.xml`);
  const plugins = fileURLToPath(new URL('../../bench/llama-server-tests/plugins', import.meta.url));
  const chosen = values.cases === undefined ? [] : ['-k', values.cases];
  const child = spawn(
    values.python,
    ['-m', 'pytest', `unit/${file}`, '-m', 'not slow', '-p', 'case_limit', '-p', 'no:cacheprovider'].concat(
      ['-q', '--tb=short', '--show-capture=stdout', `--junitxml=${result}`],
      chosen,
    ),
    {
      cwd: tests,
      stdio: 'inherit',
      env: {
        ...process.env,
        PYTHONPATH: [plugins, process.env['PYTHONPATH'] ?? ''].join(delimiter),
        PYTHONDONTWRITEBYTECODE: '1',
        LLAMA_SERVER_BIN_PATH: server,
        ROCMFORGE_STAND_INS: join(work, 'models'),
        ROCMFORGE_CASE_SECONDS: values.seconds,
        PORT: values.port,
      },
    },
  );
  await once(child, 'exit');
}

/** The results of all reports of the folder. */
async function allResults(): Promise<Map<string, readonly TestCase[]>> {
  const results = new Map<string, readonly TestCase[]>();
  for (const name of (await readdir(reports)).filter((one) => one.endsWith('.py.xml')).sort()) {
    results.set(name.slice(0, -'.xml'.length), casesIn(await readFile(join(reports, name), 'utf8')));
  }
  return results;
}

try {
  await mkdir(reports, { recursive: true });
  const [stories260K, stories15M] = await Promise.all(
    ['stories260K-f32.gguf', 'stories15M-q4_0.gguf'].map(modelFile),
  );
  await writeStandIns(join(work, 'models'), { stories260K: stories260K ?? '', stories15M: stories15M ?? '' });
  await mkdir(join(tests, 'tmp'), { recursive: true });
  const server = await writeServer();
  const all = (await readdir(join(tests, 'unit'))).filter((name) => /^test_\w+\.py$/.test(name)).sort();
  const wanted = all.filter(
    (name) => positionals.length === 0 || positionals.some((one) => name.includes(one)),
  );
  for (const file of wanted) await run(file, server);
  const results = await allResults();
  const page = reportPage(results);
  console.log(page);
  if (values.page !== undefined) await writeFile(values.page, page);
  const { summary } = values;
  if (summary !== undefined) await writeFile(summary, withTable(await readFile(summary, 'utf8'), results));
} finally {
  await rm(work, { recursive: true, force: true });
}
