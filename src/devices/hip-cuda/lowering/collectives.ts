import { invariant } from '../../../base/errors.ts';
import { type PushedSumIntent, type ReduceResidualIntent, refuseCollective } from '../../../device/index.ts';
import type { AllGatherOp, AllReduceOp, CollectiveOp, Tensor } from '../../../ops/index.ts';
import { type LibraryRank, MAX_LINKED_RANKS, type PeerRank } from '../peers/peer-rank.ts';
import type { LaunchPlan, Operand } from './launch-plan.ts';
import { type Arg, int, NULL } from './launch-template.ts';
import type { Lowering } from './lowering.ts';
import { launchMatvec } from './matvec.ts';

/** `THREADS` of `peers.h`, and of the kernel that sends in bulk. */
const THREADS = 256;
const BULK_THREADS = 512;
/** Numbers that are sent in bulk together. */
const BULK_GROUP = 4;
/**
 * From so many bytes on, more than two ranks add up a part each, which takes one more turn over the links but sends a (ranks / 2)th of
 * the bytes: computed from the measured times of the other way, not measured.
 */
const PARTS_BYTES = 128 << 10;
/** The code in `matvec.hip` for sums that are pushed. */
const PUSHED_CODE = 6;
/** Of more ranks, each would send more to all others in bulk than a part in slots. */
const MAX_BULK_RANKS = 4;

/** Numbers of a tensor up to which they are sent in slots at once, and every rank adds up all of them. */
export function mostAtOnce({ inboxes, slots, bulkFrom }: PeerRank): number {
  const before = inboxes.length > 2 ? Math.min(bulkFrom, PARTS_BYTES) : bulkFrom;
  return Math.min(2 * slots, before / 4 - 2);
}

export function lowerAllReduce(op: AllReduceOp, to: Lowering): void {
  launchReduce(op, { addend: NULL, y: op.out }, to);
}

/** A sum over the ranks with another tensor added to it. */
export function emitReduceResidual({ op, addend, y }: ReduceResidualIntent, to: Lowering): void {
  launchReduce(op, { addend, y }, to);
}

/** A product whose kernel sends its sums, and the kernel that waits for the others' and adds them up. */
export function emitPushedSum({ op, biases, addend, y, ...product }: PushedSumIntent, to: Lowering): void {
  const { x } = op;
  const peers = linkOf(op, to);
  invariant(peers.kind === 'kernels', 'only kernels push sums');
  const { inboxes, rank, state, slots } = peers;
  launchMatvec(
    { ...product, kind: 'matvec', epilogue: { kind: 'store', y: x, biases } },
    {
      output: PUSHED_CODE,
      defines: { RANKS: inboxes.length, SLOTS: slots },
      y: x,
      args: [...inboxArgs(peers).slice(1), { kind: 'device', address: state }, int(rank)],
    },
    to,
  );
  launch(to, peers, {
    groups: Math.ceil((to.capacity(x) * x.width) / 2),
    plan: {
      file: 'all-reduce.hip',
      kernel: 'add_pushed',
      args: [to.count(x), x, addend ?? NULL, y, int(x.width)],
    },
  });
}

function launchReduce(
  op: AllReduceOp,
  { addend, y }: { readonly addend: Operand; readonly y: Tensor },
  to: Lowering,
): void {
  const { x } = op;
  const peers = linkOf(op, to);
  if (peers.kind === 'library') return reduceByLibrary(op, { addend, y }, to);
  const ranks = peers.inboxes.length;
  const numbers = to.capacity(x) * x.width;
  const pairs = Math.ceil(numbers / 2);
  const args = [to.count(x), x, addend, y, int(x.width)];
  const isBulk = 4 * numbers >= peers.bulkFrom && x.width % BULK_GROUP === 0 && ranks <= MAX_BULK_RANKS;
  if (isBulk) {
    const plan = { file: 'all-reduce-bulk.hip', kernel: 'all_reduce_bulk', args };
    const groups = Math.min(numbers / BULK_GROUP, peers.bulk);
    return launch(to, peers, { groups, threads: BULK_THREADS, plan, defines: { BULK: peers.bulk } });
  }
  const inParts = ranks > 2 && 8 * pairs >= PARTS_BYTES;
  const kernel = inParts ? 'all_reduce_parts' : 'all_reduce';
  const groups = inParts ? Math.ceil(pairs / ranks) : pairs;
  return launch(to, peers, {
    groups: Math.min(groups, peers.slots),
    plan: { file: 'all-reduce.hip', kernel, args },
  });
}

export function lowerAllGather(op: AllGatherOp, to: Lowering): void {
  const { x, widths, out } = op;
  const peers = linkOf(op, to);
  if (peers.kind === 'library') return gatherByLibrary(op, to);
  const pairs = Math.ceil((to.capacity(x) * Math.max(...widths)) / 2);
  const all = Array.from({ length: MAX_LINKED_RANKS }, (_, rank) => int(widths[rank] ?? 0));
  const args = [to.count(x), x, out, ...all];
  launch(to, peers, {
    groups: Math.min(pairs, peers.slots),
    plan: { file: 'all-gather.hip', kernel: 'all_gather', args },
  });
}

/** The link of the rank whose graph it is. Throws `OP_UNSUPPORTED` without one. */
function linkOf(op: CollectiveOp, to: Lowering): PeerRank | LibraryRank {
  const { peers, api } = to.target;
  if (!peers) refuseCollective(api, op);
  const { rank } = to.graph;
  const ranks = peers.kind === 'library' ? peers.ranks : peers.inboxes.length;
  invariant(rank?.index === peers.rank && rank.count === ranks, `${to.graph.name} is for the linked rank`);
  return peers;
}

/** The library sums all rows that there is memory for; a launch of its own writes those in use to where others may not be. */
function reduceByLibrary(
  { x }: AllReduceOp,
  { addend, y }: { readonly addend: Operand; readonly y: Tensor },
  to: Lowering,
): void {
  const count = to.capacity(x) * x.width;
  const isWhole = addend === NULL && to.mayFill(y);
  const sums = isWhole ? y : to.temporary(4 * count);
  to.collect({ collective: { kind: 'allReduce', count }, args: [x, sums] });
  if (isWhole) return;
  to.launch({
    file: 'collected.hip',
    kernel: 'add_sums',
    grid: [Math.ceil(x.width / THREADS), to.capacity(x)],
    block: THREADS,
    args: [to.count(x), sums, addend, y, int(x.width)],
  });
}

/** Every rank's rows one behind another, then side by side. */
function gatherByLibrary({ x, widths, out }: AllGatherOp, to: Lowering): void {
  const capacity = to.capacity(x);
  const counts = widths.map((width) => capacity * width);
  const parts = to.temporary(4 * counts.reduce((sum, count) => sum + count, 0));
  to.collect({ collective: { kind: 'allGather', counts }, args: [x, parts] });
  const all = Array.from({ length: MAX_LINKED_RANKS }, (_, rank) => int(widths[rank] ?? 0));
  to.launch({
    file: 'collected.hip',
    kernel: 'place_parts',
    grid: [Math.ceil(out.width / THREADS), capacity],
    block: THREADS,
    args: [to.count(x), parts, out, int(capacity), ...all],
  });
}

/** A kernel of `peers.h`. */
interface PeerLaunch {
  /** What is dealt to its threads at once: slots, or groups of numbers. */
  readonly groups: number;
  readonly threads?: number;
  readonly defines?: Readonly<Record<string, number>>;
  readonly plan: Pick<LaunchPlan, 'file' | 'kernel' | 'args'>;
}

/** Launches it with as many blocks on every rank. */
function launch(
  to: Lowering,
  peers: PeerRank,
  { groups, threads = THREADS, defines = {}, plan }: PeerLaunch,
): void {
  const { inboxes, rank, state, aborted, patience, slots } = peers;
  const blocks = Math.max(1, Math.min(peers.blocks, Math.ceil(groups / threads)));
  to.launch({
    ...plan,
    defines: { RANKS: inboxes.length, SLOTS: slots, ...defines },
    grid: [blocks],
    block: threads,
    args: [
      ...plan.args,
      ...inboxArgs(peers),
      { kind: 'device', address: state },
      { kind: 'device', address: aborted },
      int(rank),
      int(patience),
      int(blocks),
    ],
  });
}

/** All inboxes from the rank's own on; null where there are fewer than kernels have parameters for. */
function inboxArgs({ inboxes, rank }: PeerRank): readonly Arg[] {
  return Array.from({ length: MAX_LINKED_RANKS }, (_, distance): Arg => {
    const address = distance < inboxes.length ? inboxes[(rank + distance) % inboxes.length] : undefined;
    return address === undefined ? NULL : { kind: 'device', address };
  });
}
