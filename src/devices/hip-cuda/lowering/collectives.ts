import { invariant } from '../../../base/errors.ts';
import { refuseCollective } from '../../../device/index.ts';
import type { AllGatherOp, AllReduceOp, CollectiveOp } from '../../../ops/index.ts';
import { MAX_LINKED_RANKS, type PeerRank } from '../peers/peer-rank.ts';
import type { LaunchPlan } from './launch-plan.ts';
import { type Arg, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';

/** `THREADS` of `peers.h`. */
const THREADS = 256;
/**
 * From so many bytes on, more than two ranks add up a part each, which takes one more turn over the links but sends a (ranks / 2)th of
 * the bytes: computed from the measured times of the other way, not measured.
 */
const PARTS_BYTES = 128 << 10;

export function lowerAllReduce(op: AllReduceOp, to: Lowering): void {
  const { x, out } = op;
  const peers = peersOf(op, to);
  const ranks = peers.inboxes.length;
  const pairs = Math.ceil((to.capacity(x) * x.width) / 2);
  const inParts = ranks > 2 && 8 * pairs >= PARTS_BYTES;
  launch(to, peers, inParts ? Math.ceil(pairs / ranks) : pairs, {
    file: 'all-reduce.hip',
    kernel: inParts ? 'all_reduce_parts' : 'all_reduce',
    args: [to.count(x), x, out, int(x.width)],
  });
}

export function lowerAllGather(op: AllGatherOp, to: Lowering): void {
  const { x, widths, out } = op;
  const peers = peersOf(op, to);
  const pairs = Math.ceil((to.capacity(x) * Math.max(...widths)) / 2);
  const all = Array.from({ length: MAX_LINKED_RANKS }, (_, rank) => int(widths[rank] ?? 0));
  launch(to, peers, pairs, {
    file: 'all-gather.hip',
    kernel: 'all_gather',
    args: [to.count(x), x, out, ...all],
  });
}

/** The link of the rank whose graph it is. Throws `OP_UNSUPPORTED` without one. */
function peersOf(op: CollectiveOp, to: Lowering): PeerRank {
  const { peers, api } = to.target;
  if (!peers) refuseCollective(api, op);
  const { rank } = to.graph;
  invariant(
    rank?.index === peers.rank && rank.count === peers.inboxes.length,
    `${to.graph.name} is for the linked rank`,
  );
  return peers;
}

/** Launches a kernel of `peers.h`, whose slots are dealt to threads: with as many blocks on every rank. */
function launch(
  to: Lowering,
  peers: PeerRank,
  slots: number,
  plan: Pick<LaunchPlan, 'file' | 'kernel' | 'args'>,
): void {
  const { inboxes, rank, state, aborted, patience } = peers;
  const blocks = Math.max(1, Math.min(peers.blocks, Math.ceil(Math.min(slots, peers.slots) / THREADS)));
  const fromOwn = Array.from({ length: MAX_LINKED_RANKS }, (_, distance): Arg => {
    const address = distance < inboxes.length ? inboxes[(rank + distance) % inboxes.length] : undefined;
    return address === undefined ? NULL : { kind: 'device', address };
  });
  to.launch({
    ...plan,
    defines: { RANKS: inboxes.length, SLOTS: peers.slots },
    grid: [blocks],
    block: THREADS,
    args: [
      ...plan.args,
      ...fromOwn,
      { kind: 'device', address: state },
      { kind: 'device', address: aborted },
      int(rank),
      int(patience),
      int(blocks),
    ],
  });
}
