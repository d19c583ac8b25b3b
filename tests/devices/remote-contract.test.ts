import assert from 'node:assert/strict';
import { after } from 'node:test';
import { openCpu } from '../../src/node/open-cpu.ts';
import { REFUSE_COPIES } from '../support/contract/cases/experts.ts';
import { testDeviceContract } from '../support/contract/index.ts';
import { servedPair } from '../support/remote-pair.ts';

const ends: Promise<void>[] = [];

/** Of a kind of operator, one case is enough: that all of a graph arrives is what is at stake. */
const seen = new Set<string>();

testDeviceContract(
  'a CPU device over a connection',
  async () => {
    const device = await openCpu({ threads: 1, cpuKernels: 'wasm' });
    const { remote, serving } = await servedPair(device);
    ends.push(
      serving.then(async () => {
        assert.equal(device.liveObjects(), 0, 'nothing is left on the other side');
        await device[Symbol.asyncDispose]();
      }),
    );
    return remote;
  },
  {
    only: (name) => {
      const [, kind] = /^operator (\w+)/.exec(name) ?? [];
      if (kind === undefined) return true;
      if (seen.has(kind)) return false;
      seen.add(kind);
      return true;
    },
    unsupported: [
      { reason: 'heads come in multiples of four values', tests: [/attention: .*odd size/] },
      REFUSE_COPIES,
    ],
  },
);

after(async () => {
  assert.ok(ends.length > 0);
  await Promise.all(ends);
});
