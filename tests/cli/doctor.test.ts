import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  deviceFinding,
  type Finding,
  kernelFindings,
  modelFindings,
  nodeFinding,
} from '../../src/cli/commands/doctor.ts';
import { startCliIn } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('what is missing is found, with what to do about it', () => {
  assert.equal(nodeFinding('20.20.0').state, 'ok');
  assert.equal(nodeFinding('24.1.0').state, 'ok');
  assert.match(nodeFinding('18.19.0').fix ?? '', /nodejs\.org/);
  const gpu = { device: 'cuda:0', backend: 'cuda', name: 'GPU', memory: { free: 2 ** 35, total: 2 ** 35 } };
  assert.deepEqual(deviceFinding({ ...gpu, details: { compiler: '12.4' } }).state, 'ok');
  const bare = deviceFinding({ ...gpu, details: { compiler: 'libnvrtc.so was not found. Install it' } });
  assert.deepEqual([bare.state, bare.fix], ['problem', 'pip install nvidia-cuda-nvrtc']);
  assert.equal(deviceFinding({ device: 'hip', backend: 'hip', error: 'no driver' }).state, 'note');
  assert.equal(deviceFinding({ device: 'cpu', backend: 'cpu', error: 'no threads' }).state, 'problem');
  const cpu = (kernels: string) => [{ device: 'cpu', backend: 'cpu', details: { kernels } }];
  assert.equal(kernelFindings(cpu('native avx2'))[0]?.state, 'ok');
  assert.equal(kernelFindings(cpu('wasm'))[0]?.state, 'note');
  assert.match(
    modelFindings([gpu])[0]?.text ?? '',
    /^on cuda:0, .*: rocmforge chat hf:unsloth\/Qwen3-32B-GGUF$/,
  );
  const desktop = { ...gpu, device: 'cpu', backend: 'cpu' };
  assert.match(modelFindings([desktop])[0]?.text ?? '', /^on cpu, try 4 billion/);
  const small = { ...gpu, memory: { free: 2 ** 20, total: 2 ** 20 } };
  assert.match(modelFindings([small])[0]?.text ?? '', /no well-known model fits/);
});

test('the doctor looks at everything, and ends with 1 where something is in the way', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'config.json');
  writeFileSync(path, '{}');
  const env = { ...process.env, ROCMFORGE_CONFIG: path, HF_HUB_CACHE: join(folder, 'hub'), HF_TOKEN: 'x' };
  const fine = await startCliIn(t, env, ['doctor', '--json']).result;
  const { ok, findings } = JSON.parse(fine.stdout) as { ok: boolean; findings: Finding[] };
  // A machine may have a GPU that lacks something.
  const isElsewhere = ({ about }: Finding) => !/^(?:hip|cuda)/.test(about);
  assert.deepEqual(findings.filter(({ state }) => state === 'problem').filter(isElsewhere), [], fine.stdout);
  assert.equal(fine.code, ok ? 0 : 1);
  const about = new Set(findings.map((finding) => finding.about));
  for (const area of ['node', 'cpu', 'models', 'cache', 'hub', 'settings']) assert.ok(about.has(area), area);
  assert.ok(!fine.stdout.includes('"x"'), 'no token is printed');
  writeFileSync(join(folder, 'file'), '');
  const blocked = { ...env, HF_HUB_CACHE: join(folder, 'file', 'hub') };
  const bad = await startCliIn(t, blocked, ['doctor']).result;
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^PROBLEM +cache +.*cannot be written.*\n +fix: make .*file writable/m);
});
