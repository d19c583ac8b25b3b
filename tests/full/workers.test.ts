import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { type Server, connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RemoteDevice } from '../../src/devices/remote/index.ts';
import { loadModel } from '../../src/index.ts';
import type { LoadModelOptions } from '../../src/node/load-model.ts';
import { type DeviceRequest, openDevice } from '../../src/node/devices.ts';
import { modelMemory } from '../../src/node/model-facts.ts';
import type { WorkerEvent } from '../../src/node/served-worker.ts';
import { WorkerServer, type WorkerServerOptions } from '../../src/node/worker-server.ts';
import { childProcesses } from '../support/child-processes.ts';
import { familyPaths } from '../support/family-fixtures.ts';
import { HUNG_MS, until } from '../support/hung.ts';
import { PROJECT_ROOT } from '../support/project.ts';
import { BUNDLED } from '../support/run-cli.ts';

const SECRET = 'a secret of the tests of workers';
const CPU = { device: 'cpu', threads: 1, cpuKernels: 'wasm' } as const;
const TEXT = { temperature: 0, maxTokens: 24, ignoreEnd: true } as const;

async function textOf(location: string, options: LoadModelOptions): Promise<string> {
  await using model = await loadModel(location, { ...CPU, context: 64, ...options });
  return await model.generate([1, 40, 41, 42], TEXT).text();
}

/** The processes that this one has started and that have not ended. */
function children(): number[] {
  return childProcesses().flatMap(({ pid, words }) => (words.includes('worker-process') ? [pid] : []));
}

async function openServer(options: Partial<WorkerServerOptions> = {}): Promise<WorkerServer> {
  return await WorkerServer.open({ device: CPU, port: 0, secret: SECRET, ...options });
}

test('texts are those of one process: layers in two other ones', { timeout: HUNG_MS }, async () => {
  const { model } = familyPaths({ name: 'qwen35', sizes: {} });
  for (const path of [BUNDLED, model]) {
    const expected = await textOf(path, {});
    assert.equal(await textOf(path, { workers: ['process=cpu'] }), expected);
    if (path === BUNDLED)
      assert.equal(await textOf(path, { workers: ['process=cpu', 'process=cpu'] }), expected);
  }
  assert.deepEqual(children(), []);
});

test(
  'texts are those of one process: a part of every layer in other ones',
  { timeout: HUNG_MS },
  async () => {
    const { model } = familyPaths({ name: 'qwen35', sizes: {} });
    for (const [path, workers] of [
      [BUNDLED, ['process=cpu']],
      [model, ['process=cpu', 'process=cpu']],
    ] as const) {
      const expected = await textOf(path, {});
      assert.equal(await textOf(path, { workers, workerSplit: 'tensors' }), expected);
    }
    assert.deepEqual(children(), []);
  },
);

test(
  'a process that is started here reads the weights from the model’s own file',
  { timeout: HUNG_MS },
  async () => {
    await using model = await loadModel(BUNDLED, { ...CPU, context: 64, workers: ['process=cpu'] });
    const [first] = model.device.stages ?? [];
    assert.ok(first instanceof RemoteDevice && first.here);
    assert.match(first.model ?? '', /^[\da-f]{64}$/);
    assert.ok(model.gguf.tensors.every((tensor) => first.hasTensor(tensor)));
    await model.loaded;
  },
);

for (const [what, signal, workerSplit] of [
  ['is killed', 'SIGKILL', undefined],
  ['hangs', 'SIGSTOP', undefined],
  ['that has a part of every layer is killed', 'SIGKILL', 'tensors'],
] as const) {
  test(
    `a text goes on with the same tokens when its worker ${what} in the middle of it`,
    { timeout: HUNG_MS },
    async () => {
      const expected = await textOf(BUNDLED, {});
      await using model = await loadModel(BUNDLED, {
        ...CPU,
        context: 64,
        workers: ['process=cpu'],
        workerSplit,
        workerDeadline: 2,
      });
      const [first] = children();
      assert.ok(first !== undefined);
      let pieces = 0;
      let text = '';
      for await (const { text: piece } of model.generate([1, 40, 41, 42], TEXT)) {
        text += piece;
        if (++pieces === 5) process.kill(first, signal);
      }
      assert.equal(text, expected);
      const now = children();
      assert.ok(
        now.length === 1 && now[0] !== first,
        'another process took its place, and nothing is left of it',
      );
    },
  );
}

test(
  'a worker that listens serves one program at a time, and the next when that has left',
  { timeout: HUNG_MS },
  async () => {
    const events: WorkerEvent[] = [];
    await using server = await openServer({ onEvent: (event) => events.push(event) });
    const { address } = server.description;
    const use = { workers: [address], workerSecret: SECRET };
    const expected = await textOf(BUNDLED, {});
    assert.equal(await textOf(BUNDLED, use), expected);
    await using model = await loadModel(BUNDLED, { ...CPU, context: 64, ...use });
    await assert.rejects(openDevice({ ...CPU, ...use }), {
      code: 'REMOTE_REFUSED',
      message: /its device is in use/,
    });
    await assert.rejects(openDevice({ ...CPU, ...use, workerSecret: 'another secret of these tests' }), {
      code: 'REMOTE_REFUSED',
      message: /the secrets differ/,
    });
    assert.equal(await model.generate([1, 40, 41, 42], TEXT).text(), expected);
    await model.dispose();
    await until(
      () => `${server.connections} connections`,
      () => server.connections === 0,
    );
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['connected', 'ended', 'connected', 'refused', 'refused', 'ended'],
    );
  },
);

test(
  'models that are loaded with the same options do not take workers from each other',
  { timeout: HUNG_MS },
  async () => {
    await using server = await openServer();
    const options = { ...CPU, context: 64, workers: [server.description.address], workerSecret: SECRET };
    await using first = await loadModel(BUNDLED, options);
    await assert.rejects(loadModel(BUNDLED, options), { code: 'REMOTE_REFUSED', message: /in use/ });
    assert.ok((await first.generate([1, 40, 41, 42], TEXT).text()).length > 0);
  },
);

test(
  'who does not wait for workers any more is told at once, and nothing is left',
  { timeout: HUNG_MS },
  async (t) => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => void sockets.add(socket.on('error', () => {}).resume()));
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    t.after(() => mute.close());
    const workers = [`127.0.0.1:${(mute.address() as AddressInfo).port}`, 'process=cpu'];
    const stop = new AbortController();
    const options = { ...CPU, context: 64, workers, workerSecret: SECRET, signal: stop.signal };
    const loading = loadModel(BUNDLED, options);
    loading.catch(() => {});
    const [socket] = (await once(mute, 'connection')) as [Socket];
    const closed = once(socket, 'close');
    stop.abort();
    await assert.rejects(loading, { code: 'ABORTED' });
    await closed;
    assert.deepEqual(children(), []);
    await assert.rejects(openDevice({ ...CPU, workers, workerSecret: SECRET, signal: stop.signal }), {
      code: 'ABORTED',
    });
    assert.equal(sockets.size, 1, 'nobody connects for a signal that has fired');
  },
);

test('memory of models on other machines is not counted here', async () => {
  const options = { ...CPU, workers: ['process=cpu'] };
  await assert.rejects(modelMemory(BUNDLED, options, new AbortController().signal), {
    code: 'INVALID_ARGUMENT',
    message: /workers: found process=cpu, expected .*maxModels/,
  });
});

test('silent connections do not keep out who knows the secret', { timeout: HUNG_MS }, async (t) => {
  await using server = await openServer();
  const port = Number(/\d+$/.exec(server.description.address)?.[0]);
  const silent = Array.from({ length: 16 }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume(),
  );
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  await until(
    () => `${server.connections} connections`,
    () => server.connections === 16,
  );
  await using device = await openDevice({
    ...CPU,
    workers: [server.description.address],
    workerSecret: SECRET,
  });
  assert.equal(device.stages?.length, 2);
});

test('a program whose connection was cut unnoticed gets its worker back', { timeout: HUNG_MS }, async (t) => {
  await using server = await openServer();
  const proxy = await startProxy(t, Number(/\d+$/.exec(server.description.address)?.[0]));
  const expected = await textOf(BUNDLED, {});
  await using model = await loadModel(BUNDLED, {
    ...CPU,
    context: 64,
    workers: [proxy.address],
    workerSecret: SECRET,
  });
  let pieces = 0;
  let text = '';
  for await (const { text: piece } of model.generate([1, 40, 41, 42], TEXT)) {
    text += piece;
    if (++pieces === 5) proxy.cut();
  }
  assert.equal(text, expected);
  assert.equal(proxy.connections, 2);
});

test(
  'a worker with a file of its own reads the weights there, and takes no other model',
  { timeout: HUNG_MS },
  async (t) => {
    const expected = await textOf(BUNDLED, {});
    const { size } = statSync(BUNDLED);
    const { model: other } = familyPaths({ name: 'llama', sizes: {} });
    const sent: number[] = [];
    for (const model of [undefined, BUNDLED]) {
      await using server = await openServer({ model });
      const proxy = await startProxy(t, Number(/\d+$/.exec(server.description.address)?.[0]));
      const use = { workers: [proxy.address], workerSecret: SECRET };
      for (const workerSplit of ['layers', 'tensors'] as const) {
        const before = proxy.sent;
        assert.equal(await textOf(BUNDLED, { ...use, workerSplit }), expected);
        sent.push(proxy.sent - before);
      }
      if (model === undefined) continue;
      await assert.rejects(textOf(other, use), { code: 'REMOTE_REFUSED', message: /file is another one/ });
      assert.equal(await textOf(BUNDLED, use), expected, 'the device is free again');
      const killed = await loadModel(BUNDLED, { ...CPU, context: 64, ...use });
      let [text, pieces] = ['', 0];
      for await (const { text: piece } of killed.generate([1, 40, 41, 42], TEXT)) {
        text += piece;
        if (++pieces === 5) proxy.cut();
      }
      assert.equal(text, expected);
      await killed.dispose();
    }
    // Half the layers, or half of each; and what ranks compute together, if this is the host's to do.
    const [layers = 0, tensors = 0, own = 0, ownParts = 0] = sent;
    const said = `${sent.join(', ')} bytes of a file of ${size}`;
    assert.ok(layers > size / 4 && own < layers / 4, said);
    assert.ok(tensors - ownParts > size / 4, said);
    await assert.rejects(openServer({ model: fileURLToPath(import.meta.url) }), { code: 'GGUF_MAGIC' });
  },
);

/** Passes connections on to a port; `cut` ends them on the side of who connected, of which the other side hears nothing. */
async function startProxy(t: TestContext, port: number) {
  let sent = 0;
  const cut = new Set<unknown>();
  const near: { destroy(): void }[] = [];
  const far: { destroy(): void }[] = [];
  const server: Server = createServer((socket) => {
    const onward = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    onward.on('error', () => {});
    socket.on('data', ({ length }) => (sent += length));
    socket.pipe(onward, { end: false });
    onward.pipe(socket);
    socket.on('close', () => {
      if (!cut.has(socket)) onward.destroy();
    });
    near.push(socket);
    far.push(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of [...near, ...far]) socket.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      const last = near.at(-1);
      cut.add(last);
      last?.destroy();
    },
    get connections() {
      return near.length;
    },
    /** Bytes to the other side. */
    get sent() {
      return sent;
    },
  };
}

test(
  'what cannot be opened is said by its type, and leaves neither processes nor sockets',
  { timeout: HUNG_MS },
  async () => {
    const before = children();
    const sockets = () =>
      process.getActiveResourcesInfo().filter((name) => /TCP|Pipe|Process/.test(name)).length;
    const open = sockets();
    await using free = await openServer();
    const { address } = free.description;
    await free[Symbol.asyncDispose]();
    for (const [request, expected] of [
      [{ workers: [] }, { code: 'INVALID_ARGUMENT', message: /workers: found none/ }],
      [
        { workers: ['Host', '[host]:7979'] },
        { code: 'INVALID_ARGUMENT', message: /workers: found Host and \[host\]:7979, expected .* each/ },
      ],
      [{ workers: ['::1:2'] }, { code: 'INVALID_ARGUMENT', message: /address of a worker/ }],
      [{ workers: ['localhost:99999'] }, { code: 'INVALID_ARGUMENT' }],
      [
        { workers: [address], workerSecret: SECRET },
        { code: 'DEVICE_UNAVAILABLE', message: /ECONNREFUSED.*rocmforge worker.* running .*firewall/ },
      ],
      [
        { workers: [address], workerSecret: 'short' },
        { code: 'INVALID_ARGUMENT', message: /16 to 1024/ },
      ],
      [
        { workers: ['process=cpu'], workerSecret: 'short' },
        { code: 'INVALID_ARGUMENT', message: /16 to 1024/ },
      ],
      [{ workers: [address] }, { code: 'INVALID_ARGUMENT', message: /ROCMFORGE_WORKER_SECRET/ }],
      [
        { workers: ['process=cpu', 'process=nothing'] },
        { code: 'DEVICE_UNAVAILABLE', message: /found nothing/ },
      ],
      [
        { workers: ['process'], gpuLayers: 3 },
        { code: 'INVALID_ARGUMENT', message: /gpuLayers 3/ },
      ],
      [
        { workers: ['process'], pipelineParallel: 2 },
        { code: 'INVALID_ARGUMENT', message: /2 stages here/ },
      ],
      [
        { workers: ['process=cpu'], workerSplit: 'tensors', tensorParallel: 2 },
        { code: 'INVALID_ARGUMENT', message: /a worker for each other one, such as process=cuda:1/ },
      ],
      [
        { workers: ['process=reference'], workerSplit: 'tensors' },
        { code: 'INVALID_ARGUMENT', message: /found cpu, reference, expected two or more of one kind/ },
      ],
      [
        { workers: ['process=cpu'], workerSplit: 'rows' },
        { code: 'INVALID_ARGUMENT', message: /workerSplit: found rows, expected layers or tensors/ },
      ],
      [{ workerSplit: 'tensors' }, { code: 'INVALID_ARGUMENT', message: /tensors without workers/ }],
      [
        { workerSecret: 'a'.repeat(32) },
        { code: 'INVALID_ARGUMENT', message: /workerSecret: found no workers/ },
      ],
      [{ workerDeadline: 5 }, { code: 'INVALID_ARGUMENT', message: /workerDeadline: found no workers/ }],
      [
        { workers: ['process=cpu'], workerDeadline: -1 },
        { code: 'INVALID_ARGUMENT', message: /deadline/ },
      ],
      [
        { device: 'nothing', workers: ['process=cpu'] },
        { code: 'INVALID_ARGUMENT', message: /found nothing/ },
      ],
    ] as const) {
      await assert.rejects(openDevice({ ...CPU, ...(request as DeviceRequest) }), expected);
    }
    for (const options of [
      { secret: 'short' },
      { device: { ...CPU, pipelineParallel: 2 } },
      { device: { device: 'nothing' } },
    ])
      await assert.rejects(openServer(options), { code: 'INVALID_ARGUMENT' });
    await assert.rejects(openServer({ host: '203.0.113.1' }), { code: 'ADDRESS_IN_USE' });
    assert.deepEqual(children(), before);
    await until(
      () => `${sockets()} sockets, ${open} before`,
      () => sockets() <= open,
    );
  },
);

test('a worker with several devices is a stage and no rank', { timeout: HUNG_MS }, async () => {
  await using server = await openServer({ device: { ...CPU, tensorParallel: 2 } });
  const use = { ...CPU, workers: [server.description.address], workerSecret: SECRET };
  await assert.rejects(openDevice({ ...use, workerSplit: 'tensors' }), {
    code: 'INVALID_ARGUMENT',
    message: /expected single devices: a worker of its own for each/,
  });
});

test('what NCCL computes is refused where devices are never linked', { timeout: HUNG_MS }, async () => {
  const split = { workers: ['process=cpu'], workerSplit: 'tensors', link: 'nccl' } as const;
  await assert.rejects(textOf(BUNDLED, split), {
    code: 'DEVICE_UNAVAILABLE',
    message: /devices of this kind are never linked/,
  });
  assert.deepEqual(children(), []);
});

test(
  'a device is counted, opened and ended twenty times without anything left',
  { timeout: HUNG_MS },
  async () => {
    await using server = await openServer();
    const use = { ...CPU, workers: [server.description.address], workerSecret: SECRET };
    for (let round = 0; round < 20; round++) {
      const device = await openDevice(use);
      using buffer = device.createBuffer(4096, 'round', [0, 1]);
      await using stream = device.createStream('round');
      const back = new Uint8Array(4096);
      stream.upload(new Uint8Array(4096).fill(round), { buffer, offset: 0, byteLength: 4096 });
      await stream.download({ buffer, offset: 0, byteLength: 4096 }, back);
      assert.equal(back[4095], round);
      await device[Symbol.asyncDispose]();
      assert.equal(device.liveObjects(), 0);
    }
    await until(
      () => `${server.connections} connections`,
      () => server.connections === 0,
    );
  },
);

test('a process ends when the one that started it is killed', { timeout: HUNG_MS }, async () => {
  const program = `
    import { openDevice } from './dist/src/node/devices.js';
    const device = await openDevice({ device: 'cpu', threads: 1, cpuKernels: 'wasm', workers: ['process=cpu'] });
    console.log(/process (\\d+)/.exec(device.info.name)[1]);
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(parent.stdout, 'data')) as [Buffer];
  const worker = Number(String(said));
  assert.ok(worker > 0);
  const isThere = () => {
    try {
      process.kill(worker, 0);
    } catch {
      return false;
    }
    // One that has ended and that nobody has waited for is still listed.
    const status = `/proc/${worker}/stat`;
    return !existsSync(status) || !/\) Z /.test(readFileSync(status, 'utf8'));
  };
  assert.ok(isThere());
  parent.kill('SIGKILL');
  await until(
    () => `process ${worker} is still there`,
    () => !isThere(),
  );
});
