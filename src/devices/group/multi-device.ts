import {
  buffersOf,
  checkByteLength,
  type DequantizedFacts,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type Executable,
  LiveObjects,
  type MemoryInfo,
  type MemoryRules,
  type PinnedBuffer,
  type PinnedUse,
  type Program,
  type Step,
  type Stream,
  totalOf,
} from '../../device/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { createOnEach, createStreams } from './member-objects.ts';
import type { MultiDeviceKind } from './multi-device-stream.ts';

/**
 * Several devices as one, which owns them: the ranks of a group or the stages of a pipeline. It is lost when one of them is, ends what
 * was created from it before them, and counts their objects with its own.
 */
export abstract class MultiDevice implements Device {
  readonly lost: Promise<Error>;
  abstract readonly memoryRules: MemoryRules;
  abstract readonly info: DeviceInfo;
  abstract readonly devices: readonly Device[];
  abstract readonly promptRows: number | undefined;
  abstract readonly dequantized: DequantizedFacts | undefined;
  /** By rank or by stage. */
  protected readonly members: readonly Device[];
  protected readonly live: LiveObjects;
  /** What a member is called in labels. */
  readonly #memberName: string;

  constructor(kind: MultiDeviceKind, memberName: string, members: readonly Device[]) {
    this.members = members;
    this.live = new LiveObjects(`device ${kind}`);
    this.#memberName = memberName;
    this.lost = Promise.race(members.map(({ lost }) => lost));
  }

  createStream(label: string): Stream {
    this.live.check();
    const streams = createStreams(this.members, (index) => this.#labelOn(label, index), this.live);
    return this.live.add(this.streamOver(streams, label, (stream) => this.live.remove(stream)));
  }

  async record(executables: readonly Executable[], label: string): Promise<Step> {
    this.live.check();
    for (const buffer of buffersOf(executables)) this.checkOwn(buffer, label);
    return this.live.add(await this.recordOwn(executables, label, (step) => this.live.remove(step)));
  }

  async settle(): Promise<void> {
    await Promise.all(this.members.map(async (member) => member.settle?.()));
  }

  /** Its own objects and those of its devices. */
  liveObjects(): number {
    return this.live.count + totalOf(this.members.map((member) => member.liveObjects()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.live.disposeAll();
    await this.release();
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()));
  }

  abstract memory(): Promise<MemoryInfo>;
  abstract createBuffer(byteLength: number, label: string, stages?: readonly number[]): DeviceBuffer;
  abstract createPinned(byteLength: number, label: string, use?: PinnedUse): PinnedBuffer;
  abstract rowCapacities(rows: number): readonly number[];
  abstract compile(graph: OpGraph): Promise<Program>;

  /** A buffer on each member, undefined on those that do not `have` it. Throws what a member does, with none of them left. */
  protected createBuffers(
    byteLength: number,
    label: string,
    have: (index: number) => boolean = () => true,
  ): (DeviceBuffer | undefined)[] {
    this.live.check();
    checkByteLength(byteLength);
    return createOnEach(this.members, (member, index) =>
      have(index) ? member.createBuffer(byteLength, this.#labelOn(label, index)) : undefined,
    );
  }

  protected abstract streamOver(
    streams: readonly Stream[],
    label: string,
    ended: (stream: Stream) => void,
  ): Stream;

  /** Throws `BINDING` for memory of another device, `DISPOSED` after its disposal. */
  protected abstract checkOwn(buffer: DeviceBuffer, label: string): void;

  /** Records executables whose memory is its own. */
  protected abstract recordOwn(
    executables: readonly Executable[],
    label: string,
    ended: (step: Step) => void,
  ): Promise<Step>;

  /** Releases what the devices have in common; everything that was created from it has ended, and they have not. */
  protected async release(): Promise<void> {}

  #labelOn(label: string, index: number): string {
    return `${label} of ${this.#memberName} ${index}`;
  }
}
