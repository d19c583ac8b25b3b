import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { greetServer, RemoteDevice } from '../../src/devices/remote/index.ts';
import { openReferenceDevice } from '../../src/devices/reference/index.ts';
import { ServedWorker } from '../../src/node/served-worker.ts';
import { SocketChannel } from '../../src/node/socket-channel.ts';
import { HUNG_MS } from '../support/hung.ts';
import { socketPair, TERMS } from '../support/remote-pair.ts';

/** Connects to a worker; what the worker waits for is the other half. */
async function connectTo(worker: ServedWorker, session = 'one') {
  const [near, far] = await socketPair();
  const served = worker.serve(new SocketChannel(far, { address: 'the client' }));
  const greeting = greetServer(new SocketChannel(near, { address: 'the worker' }), TERMS, { session });
  greeting.catch(() => {});
  return { served, greeting };
}

for (const speaks of [true, false]) {
  const listener = speaks ? 'a listener' : 'a listener that throws';
  test(
    `a device that is lost as its user is greeted, and cannot be opened again, ends the connection: ${listener}`,
    { timeout: HUNG_MS },
    async () => {
      const device = openReferenceDevice();
      let lose: (error: Error) => void = () => {};
      const lost = new Promise<Error>((resolve) => (lose = resolve));
      const memory = device.memory.bind(device);
      const described = () => {
        lose(new Error('the driver ended'));
        return memory();
      };
      let opened = 0;
      const kinds: string[] = [];
      const warned = speaks ? undefined : once(process, 'warning');
      await using worker = new ServedWorker({
        terms: TERMS,
        open: async () => {
          if (opened++ > 0) throw new Error('no GPU any more');
          return Object.assign(device, { lost, memory: described });
        },
        onEvent: ({ kind }) => {
          kinds.push(kind);
          if (!speaks) throw new Error(`nobody may know of ${kind}`);
        },
      });
      const { served, greeting } = await connectTo(worker);
      const use = async () => {
        await using remote = new RemoteDevice({ ...(await greeting), here: false });
        await remote.memory();
      };
      // The end may arrive while the proof that came before it is checked.
      await assert.rejects(use(), ({ code }: { code?: string }) =>
        /^DEVICE_(LOST|UNAVAILABLE)$/.test(code ?? ''),
      );
      await served;
      assert.deepEqual(kinds, ['connected', 'refused']);
      assert.equal(worker.connections, 0);
      const [warning] = ((await warned) ?? []) as Error[];
      assert.equal(warning?.message, speaks ? undefined : 'nobody may know of connected');
    },
  );
}

test(
  'a program that connects a third time is served when what it had the first time is freed',
  { timeout: HUNG_MS },
  async () => {
    const device = openReferenceDevice();
    let allow: () => void = () => {};
    const allowed = new Promise<void>((resolve) => (allow = resolve));
    Object.assign(device, { settle: () => allowed });
    const refused: string[] = [];
    await using worker = new ServedWorker({
      terms: TERMS,
      open: async () => device,
      onEvent: (event) => void (event.kind === 'refused' && refused.push(event.error.message)),
    });
    const first = await connectTo(worker);
    const remote = new RemoteDevice({ ...(await first.greeting), here: false });
    remote.createBuffer(1024, 'of the first');
    remote.settle().catch(() => {});
    await remote.memory();
    const second = await connectTo(worker);
    // The third takes its place while it waits for the first.
    await remote.lost;
    const third = await connectTo(worker);
    await assert.rejects(second.greeting, { code: 'DEVICE_UNAVAILABLE' });
    // Nobody else gets the device meanwhile, not even if the third leaves.
    const other = await connectTo(worker, 'another');
    await assert.rejects(other.greeting, { code: 'REMOTE_REFUSED', message: /in use/ });
    assert.ok(device.liveObjects() > 0);
    let isServed = false;
    void third.greeting.then(() => (isServed = true));
    await other.served;
    assert.equal(isServed, false);
    allow();
    const { connection } = await third.greeting;
    assert.equal(device.liveObjects(), 0);
    await connection.close(new Error('the test is over'));
    await remote[Symbol.asyncDispose]();
    await Promise.all([first.served, second.served, third.served]);
    assert.equal(refused.length, 2);
  },
);

test('of connections that say nothing, the oldest makes room', { timeout: HUNG_MS }, async () => {
  await using worker = new ServedWorker({ terms: TERMS, open: async () => openReferenceDevice() });
  assert.equal(worker.dropStranger(), false);
  const known = await connectTo(worker);
  const { connection } = await known.greeting;
  const [older, newer] = [await socketPair(), await socketPair()];
  for (const [near, far] of [older, newer]) {
    near.on('error', () => {}).resume();
    void worker.serve(new SocketChannel(far, { address: 'silent' }));
  }
  assert.equal(worker.dropStranger(), true);
  await once(older[0], 'close');
  assert.equal(newer[0].destroyed, false);
  assert.equal(connection.reason, undefined);
  assert.equal(worker.dropStranger(), true);
  assert.equal(worker.dropStranger(), false, 'who is known stays');
  await once(newer[0], 'close');
  await connection.close(new Error('the test is over'));
});
