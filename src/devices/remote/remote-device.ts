import { fail, RocmforgeError } from '../../base/errors.ts';
import { packError } from '../../base/sent-error.ts';
import {
  buffersOf,
  checkByteLength,
  type DequantizedFacts,
  type Device,
  type DeviceInfo,
  type Executable,
  type GroupFacts,
  HostPinned,
  LiveObjects,
  MemoryBudget,
  type MemoryInfo,
  type MemoryRules,
  type PackedWeight,
  type PeerLink,
  type PeerPlace,
  type Program,
} from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { FRAME } from './frame.ts';
import { packGraph } from './graph-text.ts';
import type { Greeted } from './handshake.ts';
import { RemoteCalls } from './remote-calls.ts';
import { type RemoteFacts, rulesOf } from './remote-facts.ts';
import { RemoteBuffer, remoteBuffer } from './remote-memory.ts';
import {
  type ProgramOwner,
  type RemoteExecutable,
  RemoteProgram,
  RemoteWeight,
  type SentProgram,
} from './remote-program.ts';
import { RemoteStep, RemoteStream } from './remote-stream.ts';

/** A connection to a process that serves a device, and what is known of that. */
export interface RemoteDeviceSetup extends Greeted {
  readonly facts: RemoteFacts;
  /** Whether its process was started here, on this host. */
  readonly here: boolean;
}

/**
 * A device of another process, on this host or another one: what is asked of it is sent there, and its errors are the same errors here.
 * It is lost when the connection ends, when the other side is silent for the deadline, and when the device itself is. What has no answer
 * cannot fail at once: memory that there was too little of fails what is recorded with it. It owns the connection.
 */
export class RemoteDevice implements Device, ProgramOwner {
  readonly lost: Promise<Error>;
  readonly memoryRules: MemoryRules;
  /** Whether its process was started here. */
  readonly here: boolean;
  readonly #facts: RemoteFacts;
  readonly #calls: RemoteCalls;
  readonly #live: LiveObjects;
  /** This device's own buffers. */
  readonly #budget: MemoryBudget;
  /** The formats that are decoded while a part is packed. */
  readonly #decoded = new WeakMap<RemoteWeight, Set<string>>();
  #model: string | undefined;
  /** Tensors that its process has in a file of its own. */
  #tensors: ReadonlySet<object> = new Set();
  readonly #programs = new FinalizationRegistry<number>((program) =>
    this.#calls.order({ kind: FRAME.dropProgram, operands: [program] }),
  );

  constructor({ facts, here, ...greeted }: RemoteDeviceSetup) {
    this.here = here;
    this.#facts = facts;
    this.#model = facts.model;
    this.memoryRules = rulesOf(facts.rules, here);
    this.#calls = new RemoteCalls(greeted);
    this.#live = new LiveObjects(`device ${this.info.name}`);
    this.#budget = new MemoryBudget(this.info.name, facts.memory.total);
    const { ended } = greeted.connection;
    this.lost = new Promise((resolve) => {
      void ended.then((reason) => {
        if (!(reason instanceof RocmforgeError && reason.code === 'DISPOSED')) resolve(reason);
      });
    });
  }

  get info(): DeviceInfo {
    const { backend, name, details } = this.#facts.info;
    const { address } = this.#calls.connection;
    return { backend, name: `${name} at ${address}`, details };
  }

  get group(): GroupFacts | undefined {
    return this.#facts.group;
  }

  get dequantized(): DequantizedFacts | undefined {
    return this.#facts.dequantized;
  }

  get promptRows(): number | undefined {
    return this.#facts.promptRows;
  }

  /** The fingerprint of the model of which its process has a file; undefined if it has none. */
  get model(): string | undefined {
    return this.#model;
  }

  /** Has a process that was started here open a file, of which it may be asked. Rejects as that does. */
  async openFile(path: string): Promise<void> {
    this.#model = String(await this.#calls.request({ kind: FRAME.openFile, text: path }));
  }

  /**
   * Says that a model's tensors are those of the file that the process has, from which it then reads them itself. Throws `REMOTE_REFUSED`
   * for a file of another model.
   */
  useOwnFile(fingerprint: string, tensors: readonly object[]): void {
    if (fingerprint !== this.model) {
      const { address } = this.#calls.connection;
      fail('REMOTE_REFUSED', {
        address,
        why: 'the model of its file is another one than the one that is opened',
      });
    }
    this.#tensors = new Set(tensors);
  }

  hasTensor(tensor: object): boolean {
    return this.#tensors.has(tensor);
  }

  async memory(): Promise<MemoryInfo> {
    this.#live.check();
    return (await this.#calls.request({ kind: FRAME.memory })) as MemoryInfo;
  }

  createBuffer(byteLength: number, label: string): RemoteBuffer {
    this.#live.check();
    this.#calls.check();
    checkByteLength(byteLength);
    this.#budget.take(byteLength, label);
    const id = this.#calls.newId();
    this.#calls.order({ kind: FRAME.createBuffer, operands: [id, byteLength], text: label });
    const ended = (buffer: RemoteBuffer) => {
      this.#live.remove(buffer);
      this.#budget.give(byteLength);
      this.#calls.order({ kind: FRAME.dropBuffer, operands: [id] });
    };
    return this.#live.add(new RemoteBuffer({ byteLength, label, id, owner: this }, ended));
  }

  createPinned(byteLength: number, label: string): HostPinned {
    this.#live.check();
    checkByteLength(byteLength);
    const bytes = this.#allocate(byteLength, label);
    const pinned: HostPinned = new HostPinned(bytes, label, () => this.#live.remove(pinned));
    return this.#live.add(pinned);
  }

  createStream(label: string): RemoteStream {
    this.#live.check();
    this.#calls.check();
    const id = this.#calls.newId();
    this.#calls.order({ kind: FRAME.createStream, operands: [id], text: label });
    return this.#live.add(
      new RemoteStream({
        id,
        label,
        calls: this.#calls,
        owner: this,
        decodes: (weight, part, format) => this.#decoded.get(weight)?.has(`${part} ${format.name}`) ?? false,
        ended: (stream) => this.#live.remove(stream),
      }),
    );
  }

  rowCapacities(rows: number): readonly number[] {
    return [...this.#facts.rowCapacities.filter((capacity) => capacity < rows), rows];
  }

  async compile(graph: OpGraph): Promise<Program> {
    this.#live.check();
    const id = this.#calls.newId();
    const frame = { kind: FRAME.compile, operands: [id], text: packGraph(graph) };
    const sent = (await this.#calls.request(frame)) as SentProgram;
    this.#live.check();
    const program = new RemoteProgram(graph, id, sent, this);
    this.#programs.register(program, id);
    return program;
  }

  async readyToDecode(weight: PackedWeight, part: number, format: TensorFormat): Promise<boolean> {
    this.#live.check();
    if (!(weight instanceof RemoteWeight) || weight.program.owner !== this) return false;
    const operands = [weight.program.id, weight.index, part, format.ggmlType];
    const isReady = (await this.#calls.request({ kind: FRAME.readyToDecode, operands })) === true;
    if (isReady) {
      const known = this.#decoded.get(weight) ?? new Set();
      this.#decoded.set(weight, known.add(`${part} ${format.name}`));
    }
    return isReady;
  }

  async record(executables: readonly Executable[], label: string): Promise<RemoteStep> {
    this.#live.check();
    const sent = executables.map((executable) => this.#own(executable, label).sent);
    for (const buffer of buffersOf(executables)) remoteBuffer({ buffer }, this);
    const id = this.#calls.newId();
    await this.#calls.request({ kind: FRAME.record, operands: [id], text: { label, executables: sent } });
    const ended = (step: RemoteStep) => {
      this.#live.remove(step);
      this.#calls.order({ kind: FRAME.dropStep, operands: [id] });
    };
    const step = new RemoteStep(label, id, this, ended);
    if (!this.#live.ended) return this.#live.add(step);
    step[Symbol.dispose]();
    return fail('DISPOSED', { what: `device ${this.info.name}` });
  }

  async joinPeers({ id, rank, ranks, signal }: PeerPlace): Promise<PeerLink> {
    this.#live.check();
    const calls = this.#calls;
    const abort = (reason: unknown) => calls.order({ kind: FRAME.abortPeers, text: packError(reason) });
    const giveUp = () => abort(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    try {
      await calls.request({ kind: FRAME.joinPeers, operands: [rank, ranks], text: [...id] });
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
    // The link of a connection that has ended ends by itself.
    const leave = () => calls.request({ kind: FRAME.leavePeers }).catch(() => {});
    return { abort, [Symbol.asyncDispose]: async () => void (await leave()) };
  }

  flushed(): Promise<void> | undefined {
    return this.#calls.connection.flushed();
  }

  async settle(): Promise<void> {
    await this.#calls.request({ kind: FRAME.settle }).catch(() => {});
  }

  liveObjects(): number {
    return this.#live.count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#live.disposeAll();
    await this.#calls.connection.close(new RocmforgeError('DISPOSED', { what: `device ${this.info.name}` }));
  }

  #own(executable: Executable, label: string): RemoteExecutable {
    const { program } = executable;
    if (program instanceof RemoteProgram && program.owner === this) return executable as RemoteExecutable;
    const found = 'an executable of another device';
    return fail('BINDING', { graph: label, value: 'executable', found, expected: 'one of this device' });
  }

  #allocate(byteLength: number, label: string): Uint8Array {
    try {
      return new Uint8Array(byteLength);
    } catch (cause) {
      return fail('OUT_OF_MEMORY', { device: 'the host', what: label, bytes: byteLength, free: 0 }, cause);
    }
  }
}
