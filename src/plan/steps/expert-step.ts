import { asBytes } from '../../base/bytes.ts';
import { invariant } from '../../base/errors.ts';
import type { BufferRange, DeviceEvent, Stream } from '../../device/index.ts';
import {
  EARLIER_SUM,
  EXPERT_IDS,
  EXPERT_SLOTS,
  EXPERT_SUM,
  GROUP_WEIGHTS,
  LIKELY_IDS,
  ROUTING_WEIGHTS,
} from '../../model/expert-place.ts';
import type { ExpertWeights } from '../weights/expert-weights.ts';

/** The next layer with experts, some of which are loaded before it chooses them. */
export interface NextExperts {
  readonly experts: ExpertWeights;
  /** Most experts that are loaded ahead. */
  readonly most: number;
  /** Queues the part that guesses which ones it chooses, and gives the number of these for each row. */
  guess(): Promise<number>;
}

/** A layer of a step whose experts are streamed, behind its `route` part. */
export interface ExpertStep {
  readonly stream: Stream;
  readonly experts: ExpertWeights;
  /** Token rows in use, and the experts of each. */
  readonly rows: number;
  readonly topK: number;
  /** The memory of a value between parts. */
  range(name: string): BufferRange;
  /** Queues a part of the layer. */
  run(role: 'whole' | 'first' | 'more' | 'after'): Promise<void>;
  readonly next?: NextExperts | undefined;
}

/**
 * Runs the rest of a layer once the host has read which experts its rows chose. If these all have slots at once, it is one part.
 * Otherwise they pass through the slots in groups: each group computes all rows, with the routing weights of other experts zero,
 * and the groups' results are added up. Rejects with the device's error, or as a load.
 */
export async function runExperts(step: ExpertStep): Promise<void> {
  const { stream, experts, rows, topK } = step;
  const ids = new Int32Array(rows * topK);
  const next = step.next && rows * topK <= experts.cache.slots ? step.next : undefined;
  const likely = new Int32Array(next ? rows * (await next.guess()) : 0);
  await Promise.all([
    stream.download(step.range(EXPERT_IDS), asBytes(ids)),
    next && stream.download(step.range(LIKELY_IDS), asBytes(likely)),
  ]);
  const chosen = experts.cache.use(ids, rows);
  if (chosen.length > experts.cache.slots) return runGroups(step, ids, chosen);
  await admit(step, chosen);
  stream.upload(asBytes(ids.map((id) => experts.cache.slotOf(id))), step.range(EXPERT_SLOTS));
  await step.run('whole');
  next?.experts.prefetch(byRank(likely, rows), next.most);
}

/** The experts of all rows, each row's likeliest one first. */
function byRank(ids: Int32Array, rows: number): number[] {
  const each = ids.length / rows;
  return Array.from(ids, (_, i) => ids[(i % rows) * each + Math.floor(i / rows)] as number);
}

async function runGroups(step: ExpertStep, ids: Int32Array, chosen: readonly number[]): Promise<void> {
  const { stream, experts } = step;
  const weights = new Float32Array(ids.length);
  await stream.download(step.range(ROUTING_WEIGHTS), asBytes(weights));
  const ends: DeviceEvent[] = [];
  let before: readonly number[] = [];
  for (const group of groupsOf(chosen, step)) {
    // A slot is overwritten once the group that read it is computed: the one before the last, unless there is no room.
    const isRoom = before.length + group.length <= experts.cache.slots;
    const last = isRoom ? ends.at(-2) : ends.at(-1);
    await admit(step, group, { kept: isRoom ? before : [], after: last ? [last] : [] });
    if (ends.length > 0) stream.copy(step.range(EXPERT_SUM), step.range(EARLIER_SUM));
    uploadGroup(step, new Set(group), { ids, weights });
    await step.run(ends.length > 0 ? 'more' : 'first');
    ends.push(stream.record());
    before = group;
  }
  return step.run('after');
}

/**
 * Those that have slots are one group, so that the others are loaded while these are computed; groups of half the slots then
 * let one be loaded while the one before is computed.
 */
function groupsOf(chosen: readonly number[], { experts: { cache } }: ExpertStep): number[][] {
  const there = chosen.filter((expert) => cache.slotOf(expert) >= 0);
  const groups = there.length > 0 ? [there] : [];
  const half = cache.slots / 2;
  for (let i = 0, from = there.length; from < chosen.length; i++) {
    // Of an odd number of slots, every other group has the larger half.
    const size = Math.ceil((i + 1) * half) - Math.ceil(i * half);
    if (size > 0) groups.push(chosen.slice(from, from + size));
    from += size;
  }
  return groups;
}

function uploadGroup(
  { stream, experts, range }: ExpertStep,
  group: ReadonlySet<number>,
  { ids, weights }: { ids: Int32Array; weights: Float32Array },
): void {
  // The choices of other experts are multiplied by zero: spread over the group's, whose weights are numbers.
  const slots = [...group].map((expert) => experts.cache.slotOf(expert));
  const slotIds = ids.map((id, i) =>
    group.has(id) ? experts.cache.slotOf(id) : (slots[i % slots.length] as number),
  );
  stream.upload(asBytes(slotIds), range(EXPERT_SLOTS));
  stream.upload(
    asBytes(weights.map((weight, i) => (group.has(ids[i] as number) ? weight : 0))),
    range(GROUP_WEIGHTS),
  );
}

/** Brings experts into slots; the stream waits for what is on its way. */
async function admit(
  { stream, experts }: ExpertStep,
  group: readonly number[],
  on: { readonly kept?: readonly number[]; readonly after?: readonly DeviceEvent[] } = {},
): Promise<void> {
  const events = await experts.admit(group, on);
  for (const event of events) stream.wait(event);
  invariant(
    group.every((expert) => experts.cache.slotOf(expert) >= 0),
    'the experts of a group have slots',
  );
}
