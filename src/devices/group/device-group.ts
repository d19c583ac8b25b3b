import { fail, invariant } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import {
  checkByteLength,
  type DequantizedFacts,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type Executable,
  type GroupFacts,
  type MemoryInfo,
  type MemoryRules,
  memoryShares,
  type LinkChoice,
  type PeerLink,
  type PinnedBuffer,
  type PinnedUse,
  type Program,
  type Step,
  type Stream,
} from '../../device/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { GroupBuffer, groupBuffer, GroupPinned } from './group-memory.ts';
import { type GroupExecutable, GroupProgram } from './group-program.ts';
import { GroupStep } from './group-step.ts';
import { GroupStream } from './group-stream.ts';
import { joinRanks } from './join-ranks.ts';
import { MultiDevice } from './multi-device.ts';

/** Options of a group. */
export interface DeviceGroupOptions {
  /** What computes collectives. Default: `auto`. */
  readonly link?: LinkChoice | undefined;
  /** Receives why ranks in several processes are not linked. Default: none. */
  readonly logger?: Logger | undefined;
  /** As `GroupFacts`. Default 1 Mi. */
  readonly gatherAtLeast?: number;
}

const GATHER_AT_LEAST = 2 ** 20;

/**
 * Devices of a kind as one: each is a rank, and has its shard of the weights and of the states (tensor parallelism; Shoeybi et al.
 * 2019, "Megatron-LM"). It runs graphs that were recorded for as many ranks. What the ranks compute together (`CollectiveOp`) passes
 * through the host, unless the devices can be linked: they need not see one another's memory, nor be in one process: some may be in
 * others. Sizes are those of one rank, the largest. The group owns its devices.
 */
export class DeviceGroup extends MultiDevice {
  readonly memoryRules: MemoryRules;
  readonly group: GroupFacts;
  readonly devices: readonly Device[];
  readonly #linkChoice: LinkChoice | undefined;
  readonly #logger: Logger;
  #linking: Promise<PeerLink | undefined> | undefined;

  /** Throws `INVALID_ARGUMENT` for fewer than two devices, devices of different kinds, or groups of them. */
  constructor(
    devices: readonly Device[],
    { gatherAtLeast = GATHER_AT_LEAST, link, logger = silentLogger }: DeviceGroupOptions = {},
  ) {
    const kinds = new Set(devices.map(({ info }) => info.backend));
    if (devices.length < 2 || kinds.size !== 1) {
      const found = devices.map(({ info }) => info.backend).join(', ');
      fail('INVALID_ARGUMENT', { name: 'devices', found, expected: 'two or more of one kind' });
    }
    const whole = devices.find(({ group, stages }) => group ?? stages);
    if (whole) {
      const expected = 'single devices: a worker of its own for each one of another process';
      fail('INVALID_ARGUMENT', { name: 'devices', found: whole.info.name, expected });
    }
    super('group', 'rank', devices);
    this.devices = devices;
    this.group = { ranks: devices.length, gatherAtLeast };
    this.#linkChoice = link;
    this.#logger = logger;
    this.memoryRules = groupRules(this.#first.memoryRules);
  }

  get info(): DeviceInfo {
    const { backend, name, details } = this.#first.info;
    const { ranks } = this.group;
    return { backend, name: `${ranks} x ${name}`, details: { ...details, ranks } };
  }

  /** Of the rank that has least. */
  async memory(): Promise<MemoryInfo> {
    this.live.check();
    const [least] = await memoryShares([this]);
    invariant(least, 'a group has memory');
    return least;
  }

  createBuffer(byteLength: number, label: string): GroupBuffer {
    const ranks = this.createBuffers(byteLength, label) as DeviceBuffer[];
    return this.live.add(new GroupBuffer(byteLength, label, ranks, (buffer) => this.live.remove(buffer)));
  }

  createPinned(byteLength: number, label: string, use?: PinnedUse): GroupPinned {
    this.live.check();
    checkByteLength(byteLength);
    const native = this.#first.packsCuts ? this.#first.createPinned(byteLength, label, use) : undefined;
    return this.#pinned(native?.bytes ?? new Uint8Array(byteLength), label, native);
  }

  /** Memory that only the host reads needs no pinning. */
  pin(bytes: Uint8Array, label: string): GroupPinned {
    this.live.check();
    return this.#pinned(bytes, label, this.#first.packsCuts ? this.#first.pin?.(bytes, label) : undefined);
  }

  #pinned(bytes: Uint8Array, label: string, native: PinnedBuffer | undefined): GroupPinned {
    const pinned: GroupPinned = new GroupPinned(bytes, label, native, () => this.live.remove(pinned));
    return this.live.add(pinned);
  }

  get promptRows(): number | undefined {
    return this.#first.promptRows;
  }

  /** Each device has copies of its own parts. */
  get dequantized(): DequantizedFacts | undefined {
    const { dequantized } = this.#first;
    return dequantized && { ...dequantized, maxBytes: dequantized.maxBytes * this.devices.length };
  }

  rowCapacities(rows: number): readonly number[] {
    return this.#first.rowCapacities(rows);
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.live.check();
    const link = await this.#link();
    this.live.check();
    return GroupProgram.compile(graph, this.devices, link !== undefined);
  }

  protected override streamOver(
    streams: readonly Stream[],
    label: string,
    ended: (stream: Stream) => void,
  ): Stream {
    return new GroupStream({ label, devices: this.devices, streams, ended });
  }

  protected override checkOwn(buffer: DeviceBuffer, label: string): void {
    groupBuffer({ buffer }, label);
  }

  protected override recordOwn(
    executables: readonly Executable[],
    label: string,
    ended: (step: Step) => void,
  ): Promise<Step> {
    return GroupStep.record(executables as readonly GroupExecutable[], {
      label,
      devices: this.devices,
      ended,
    });
  }

  protected override async release(): Promise<void> {
    const link = await this.#linking?.catch(() => undefined);
    await link?.[Symbol.asyncDispose]();
  }

  /** Links the devices, once; undefined if they cannot be. */
  #link(): Promise<PeerLink | undefined> {
    this.#linking ??= this.#linkNow();
    return this.#linking;
  }

  async #linkNow(): Promise<PeerLink | undefined> {
    const link = this.#linkChoice;
    const first = this.#first;
    if (this.devices.some(({ flushed }) => flushed)) {
      return joinRanks(this.devices, { link, logger: this.#logger });
    }
    if (first.linkPeers) return first.linkPeers(this.devices, { link });
    if (link === 'peer' || link === 'nccl') {
      const why = 'devices of this kind are never linked: the host computes what they have in common';
      fail('DEVICE_UNAVAILABLE', { device: first.info.backend, why });
    }
    return undefined;
  }

  get #first(): Device {
    return this.devices[0] as Device;
  }
}

/** The rules of one rank; besides what waits there, the host hands over a chunk to each of so many streams. */
function groupRules(rank: MemoryRules): MemoryRules {
  return {
    footprint: (byteLengths) => rank.footprint(byteLengths),
    own: (byteLengths) => rank.own(byteLengths),
    largestBuffer: rank.largestBuffer,
    pinnedInside: (use) => rank.pinnedInside(use),
    waiting: (streams, chunkBytes) => [
      ...rank.waiting(streams, chunkBytes),
      ...(rank.pinnedInside('weights') ? Array.from({ length: streams }, () => chunkBytes) : []),
    ],
  };
}
