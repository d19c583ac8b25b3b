import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { startRangeServer } from '../support/range-server.ts';
import { fixture } from '../support/fixture.ts';
import { BUNDLED, cliProcess, runCli, runCliEach } from '../support/run-cli.ts';

test('the bundled model is summed up', async (t) => {
  const { code, stdout } = await runCli(t, ['inspect', '-d', 'reference']);
  assert.equal(code, 0);
  assert.match(stdout, /^architecture +llama$/m);
  assert.match(stdout, /^parameters +25\.8 M in 74 tensors$/m);
  assert.match(stdout, /^memory +.* for a context of 4096 on reference \(weights .*, cache .*\)$/m);
  assert.match(stdout, /^Q4_K +44 +16\.5 M +8\.86 MiB +4\.50$/m);
  assert.match(stdout, /^tokenizer\.ggml\.tokens +string\[\] +6400: "<\|endoftext\|>" .*…$/m);
  assert.match(stdout, /^llama\.attention\.layer_norm_rms_epsilon +f32 +0\.00001$/m);
  assert.match(stdout, /^token_embd\.weight +Q6_K +512 x 6400 +2\.56 MiB +\d+$/m);
});

const inspect = cliProcess({ after });

test('sections can be had alone, and arrays in full', async () => {
  const tensors = await inspect(['inspect', BUNDLED, '--tensors']);
  assert.equal(tensors.stdout.trimEnd().split('\n').length, 1 + 74);
  const metadata = await inspect(['inspect', BUNDLED, '--metadata', '--full']);
  assert.match(metadata.stdout, /^tokenizer\.ggml\.token_type +i32\[\] +3 3 3 1( 1){6395,}/m);
  assert.doesNotMatch(metadata.stdout, /^architecture/m);
});

test('where no memory is planned, options of the plan are refused, but not settings and where a file is', async (t) => {
  const [set] = await runCliEach(t, [['inspect', BUNDLED, '--tensors']], { ROCMFORGE_CONTEXT: '100' });
  assert.equal(set?.code, 0, set?.stderr);
  for (const option of [
    ['--gpus', '2'],
    ['-c', '100'],
    ['--draft', 'draft.gguf'],
  ]) {
    const { code, stdout, stderr } = await inspect(['inspect', BUNDLED, '--tensors', ...option]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /--(gpus|context|draft): found --tensors alone, expected --summary or --fit/);
  }
  for (const flags of [
    ['--metadata', '--offline'],
    ['--tensors', '--summary', '-c', '100'],
    ['--metadata', '--fit', '-d', 'reference'],
  ]) {
    assert.equal((await inspect(['inspect', BUNDLED, ...flags])).code, 0, flags.join(' '));
  }
});

test('--json says the same to a program', async () => {
  const { stdout } = await inspect(['inspect', '-d', 'reference', '-c', '1024', '--json']);
  const report = JSON.parse(stdout);
  assert.equal(report.parameters, 25829888);
  assert.equal(report.tensors.length, report.tensorCount);
  const { context, fit } = report.memory;
  assert.equal(context, 1024);
  assert.equal(fit.total, fit.weights + fit.cache + fit.scratch + fit.ring + fit.margin);
  const tokens = report.metadata.find(({ key }: { key: string }) => key === 'tokenizer.ggml.tokens');
  assert.deepEqual([tokens.length, tokens.value.length], [6400, 8]);
  const bytes = report.tensors.reduce((sum: number, tensor: { bytes: number }) => sum + tensor.bytes, 0);
  assert.ok(bytes + report.headerBytes <= report.bytes);
});

test('of a remote file only the header is read', async (t) => {
  const content = readFileSync(BUNDLED);
  const server = await startRangeServer(t, new Map([['/model.gguf', content]]));
  const remote = await inspect(['inspect', '--tensors', '--json', `${server.url}/model.gguf`]);
  const local = await inspect(['inspect', '--tensors', '--json', BUNDLED]);
  assert.deepEqual(JSON.parse(remote.stdout), JSON.parse(local.stdout));
  assert.ok(server.bytesSent < content.length / 20, `${server.bytesSent} bytes sent`);
});

test('--fit says what each device needs of a model that is split', async () => {
  const fit = ['inspect', '-d', 'reference', '--fit'];
  const fitOf = async (...flags: string[]) =>
    JSON.parse((await inspect([...fit, ...flags, '--json'])).stdout).memory;
  const one = await fitOf();
  const two = await fitOf('--gpus', '2');
  assert.deepEqual([one.devices, two.devices], [1, 2]);
  assert.ok(two.fit.weights < 0.7 * one.fit.weights && two.fit.cache < 0.6 * one.fit.cache);
  assert.equal(two.free, Math.floor(one.free / 2));
  const text = await inspect([...fit, '--gpus', '2']);
  assert.match(text.stdout, /free on each of 2 devices \(reference\)$/m);
  assert.match(text.stdout, /^every device has all of token_embd\.weight$/m);
  const staged = await inspect([...fit, '--gpus', '2x2']);
  assert.match(
    staged.stdout,
    /free on each of 2 reference \(5 layers\) and each of 2 reference \(3 layers\)$/m,
  );
  assert.match(staged.stdout, /^ +1 +each of 2 reference +3 /m);
});

test('--fit says what stays and what is streamed in the memory that is given', async () => {
  const all = await inspect(['inspect', '-d', 'reference', '--fit']);
  assert.match(all.stdout, /^weights +16\.5 MiB +all resident, in \d+ buffers$/m);
  assert.doesNotMatch(all.stdout, /streamed|parameters/);
  const little = ['inspect', '-d', 'reference', '--fit', '--weight-memory', '7MB'];
  assert.match(
    (await inspect(little)).stdout,
    /^8 layers are streamed in every step, through 2 x 1\.88 MiB$/m,
  );
  const { memory } = JSON.parse((await inspect([...little, '--json'])).stdout);
  assert.ok(memory.fit.weights <= 7e6 && memory.fit.streamedParts === 8);
  const pinned = async (...flags: string[]) => (await inspect([...little, ...flags])).stdout;
  assert.match(await pinned('--host-memory', '2MiB'), /^pinned +2\.00 MiB +in host memory/m);
  assert.doesNotMatch(await pinned('--host-memory', '0'), /pinned .*pages/);
  const floats = await inspect(['inspect', '-d', 'reference', '--fit', '--weights', 'f32']);
  assert.match(floats.stdout, /^weights +98\.5 MiB/m);
  const cacheOf = async (type: string) => {
    const { stdout } = await inspect(['inspect', '-d', 'reference', '--fit', '--cache-type', type, '--json']);
    return (JSON.parse(stdout) as { memory: { fit: { cache: number } } }).memory.fit.cache;
  };
  const [halves, blocks] = [await cacheOf('f16'), await cacheOf('q8_0')];
  assert.ok(blocks < 0.54 * halves && blocks > 0.53 * halves, `${blocks} of ${halves} bytes`);
  const none = await inspect(['inspect', '-d', 'reference', '--fit', '--memory', '1MB']);
  assert.equal(none.code, 1);
  assert.match(none.stdout, /^the model needs .* \(weights .*\), 0\.9 MiB are free$/m);
  const staged = await inspect([
    'inspect',
    '-d',
    'reference',
    '--fit',
    '--gpus',
    '2x1',
    '--memory',
    '1MB',
    '--json',
  ]);
  assert.equal(staged.code, 1);
  assert.match(
    (JSON.parse(staged.stdout) as { memory: { unknown: string } }).memory.unknown,
    /^the model on 2 stages \(too small: stage 0 of \d layers on reference, stage 1 .*\) needs .*, 1\.9 MiB are free$/,
  );
  const wrong = await inspect(['inspect', '--fit', '--memory', 'much']);
  assert.equal(wrong.code, 2);
});

test('the plan tells of an embedding on the host and of a draft', async () => {
  const model = fixture('families/llama.gguf');
  const fit = ['inspect', model, '-d', 'reference', '--fit', '--json'];
  const fitOf = async (...flags: string[]) =>
    JSON.parse((await inspect([...fit, ...flags])).stdout).memory.fit;
  const usual = await fitOf('--speculation', '4');
  const both = await fitOf('--embedding', 'host', '--draft', model);
  assert.deepEqual([usual.host, usual.draft], [0, 0]);
  assert.ok(both.host > 0 && both.weights <= usual.weights - both.host);
  const { weights, cache, scratch, ring, margin, host, draft } = both;
  assert.ok(draft > usual.weights);
  assert.equal(both.total, weights + cache + scratch + ring + margin + host + draft);
});
