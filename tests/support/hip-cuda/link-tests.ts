import assert from 'node:assert/strict';
import type { PeerLink } from '../../../src/device/index.ts';
import type { HipCudaDevice, LinkOptions } from '../../../src/devices/hip-cuda/index.ts';
import type { CaseData } from '../contract/case-data.ts';
import {
  checkCollective,
  checkPartialProduct,
  COLLECTIVE_CASES,
  type CollectiveCase,
  PARTIAL_PRODUCTS,
  rankCases,
} from '../contract/collectives.ts';
import { runCase } from '../contract/run-case.ts';

/** Opens a card by its index. */
export type OpenCard = (card: number) => HipCudaDevice;

/** Few slots, so that larger tensors take several passes, and little that is sent in bulk. */
export const FEW_SLOTS: LinkOptions = { slots: 700, bulk: 900, bulkFrom: 32 << 10 };

/** A case of few numbers, all of which every rank waits for. */
export const SMALL_CASE = COLLECTIVE_CASES[1] as CollectiveCase;

/** What must hold of linked cards, real or emulated: which needs so many, and how it is tested. */
export const LINK_TESTS: readonly (readonly [
  name: string,
  ranks: number,
  body: (open: OpenCard, ranks: number) => Promise<void>,
])[] = [
  ...[2, 3, 4].map((ranks) => [`collectives of ${ranks} ranks`, ranks, computesTogether] as const),
  ...[2, 3].map((ranks) => [`products in parts on ${ranks} ranks`, ranks, addsUpProducts] as const),
  ['a rank that waits in vain gives up, and all devices are lost', 2, givesUp],
  ['an aborted link ends what waits', 2, endsAborted],
];

/** Opens and links cards for `body`. */
export async function withLinked(
  open: OpenCard,
  ranks: number,
  body: (devices: readonly HipCudaDevice[], link: PeerLink) => Promise<void>,
  options: LinkOptions = FEW_SLOTS,
): Promise<void> {
  const devices: HipCudaDevice[] = [];
  try {
    for (let card = 0; card < ranks; card++) devices.push(open(card));
    await using link =
      (await devices[0]?.linkPeers(devices, options)) ?? assert.fail('the cards can be linked');
    await body(devices, link);
  } finally {
    for (const device of devices) await device[Symbol.asyncDispose]();
  }
}

async function computesTogether(open: OpenCard, ranks: number): Promise<void> {
  await withLinked(open, ranks, async (devices) => {
    for (const of of COLLECTIVE_CASES) await checkCollective(devices, of);
  });
}

async function addsUpProducts(open: OpenCard, ranks: number): Promise<void> {
  await withLinked(open, ranks, async (devices) => {
    for (const of of PARTIAL_PRODUCTS) await checkPartialProduct(devices, of);
  });
}

/** Runs a case on rank 0 only, which waits for the others in vain. */
async function runAlone([device, ...others]: readonly HipCudaDevice[]): Promise<unknown> {
  assert.ok(device);
  const [data] = rankCases(SMALL_CASE, 1 + others.length) as readonly [CaseData];
  return await runCase(device, data);
}

async function givesUp(open: OpenCard): Promise<void> {
  const lost = { code: 'DEVICE_LOST', message: /rank 0 gave up waiting for the others/ };
  await withLinked(
    open,
    2,
    async (devices) => {
      await assert.rejects(runAlone(devices), lost);
      for (const device of devices) assert.match((await device.lost).message, lost.message);
    },
    { ...FEW_SLOTS, patience: 3 },
  );
}

async function endsAborted(open: OpenCard): Promise<void> {
  const expected = { code: 'DEVICE_LOST', message: /a rank of its group failed: a test aborts/ };
  await withLinked(open, 2, async (devices, link) => {
    const running = runAlone(devices);
    setTimeout(() => link.abort(new Error('a test aborts')), 20);
    await assert.rejects(running, expected);
  });
}
