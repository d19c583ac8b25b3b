import { packError } from '../../base/sent-error.ts';
import {
  type BufferRange,
  copyCut,
  cutSpan,
  type Device,
  rowsBytes,
  type WeightRows,
} from '../../device/index.ts';
import type { TensorFormat } from '../../formats/index.ts';
import type { OpGraph } from '../../ops/index.ts';
import { type Connection, unexpected } from './connection.ts';
import { errorIn } from './error-in.ts';
import { FRAME, type FrameHead } from './frame.ts';
import type { ReadFrame } from './frame-reader.ts';
import { unpackGraph } from './graph-text.ts';
import type { Greeted } from './handshake.ts';
import type { SentExecutable } from './remote-program.ts';
import { describeProgram, formatWith, ServedObjects } from './served-objects.ts';
import { checkSentRows } from './sent-rows.ts';
import { ServedPeers } from './served-peers.ts';
import { type RowsTarget, ServedStream } from './served-stream.ts';

/** Bytes of a label. */
const LABEL_BYTES = 4096;
/** Bytes of a path. */
const PATH_BYTES = 64 * 1024;
/** Bytes of a text that says where rows are. */
const CUT_BYTES = 2 ** 20;
/** Bytes of a graph, or of what a step consists of. */
const GRAPH_BYTES = 64 * 2 ** 20;
const TEXTS: ReadonlyMap<number, number> = new Map([
  [FRAME.compile, GRAPH_BYTES],
  [FRAME.record, GRAPH_BYTES],
  [FRAME.createBuffer, LABEL_BYTES],
  [FRAME.createStream, LABEL_BYTES],
  [FRAME.packOwn, CUT_BYTES],
  [FRAME.openFile, PATH_BYTES],
  [FRAME.joinPeers, LABEL_BYTES],
  [FRAME.abortPeers, PATH_BYTES],
]);
/** Maximum bytes of one upload. */
const UPLOAD_BYTES = 64 * 2 ** 20;

/** A model's file of which the serving process has a copy. */
export interface OwnFile {
  /** Identifies the model. */
  readonly fingerprint: string;
  /** A tensor's bytes; undefined for one that is not there. */
  readonly tensor: (name: string) => OwnTensor | undefined;
}

/** Files of the process that serves. */
export interface OwnFiles {
  /** The one that it has. */
  readonly file?: OwnFile | undefined;
  /** Opens one for whoever has the connection, if these may name files. */
  readonly open?: ((path: string) => Promise<OwnFile>) | undefined;
}

/** A tensor of such a file. */
export interface OwnTensor {
  readonly byteLength: number;
  readonly format: TensorFormat;
  /** Reads bytes from an offset in it. */
  read(offset: number, into: Uint8Array): Promise<void>;
}

type Handler = (operands: readonly number[], frame: ReadFrame) => void | Promise<void>;

/**
 * Serves a device to whoever has the connection, until that ends. Orders run in the order in which they arrive; what they made ends with
 * the connection, and the device stays.
 */
export class ServedDevice {
  readonly #device: Device;
  readonly #connection: Connection;
  readonly #openFile: OwnFiles['open'];
  #file: OwnFile | undefined;
  readonly #objects = new ServedObjects();
  readonly #peers: ServedPeers;
  readonly #handlers: ReadonlyMap<number, Handler>;
  /** Answers that are still computed. */
  readonly #answering = new Set<Promise<void>>();

  private constructor(device: Device, connection: Connection, { file, open }: OwnFiles) {
    this.#device = device;
    this.#peers = new ServedPeers(device);
    this.#file = file;
    this.#openFile = open;
    this.#connection = connection;
    this.#handlers = new Map<number, Handler>([
      ...this.#creations(),
      ...this.#streamOrders(),
      ...this.#deviceRequests(),
      ...this.#peerRequests(),
    ]);
  }

  /** Resolves when the connection has ended and nothing is left of what it made; with the reason for which it ended. */
  static async serve(device: Device, { connection, expect }: Greeted, files: OwnFiles = {}): Promise<Error> {
    const served = new ServedDevice(device, connection, files);
    // The device stays: what waits for its loss must not keep every connection.
    let told: Connection | undefined = connection;
    void device.lost.then((error) => told?.send({ kind: FRAME.lost, text: packError(error) }));
    expect({
      textLimit: ({ kind }) => TEXTS.get(kind) ?? 0,
      admit: (head) => served.#admit(head),
      take: (frame) => served.#take(frame),
    });
    const reason = await connection.ended;
    told = undefined;
    // Others may have ended as well, for which kernels would wait.
    served.#peers.abort(reason);
    await Promise.all(served.#answering);
    await served.#objects.end();
    await served.#peers.leave();
    return reason;
  }

  #take(frame: ReadFrame): void | Promise<void> {
    const handler = this.#handlers.get(frame.kind);
    if (!handler) unexpected(frame);
    return handler(frame.operands, frame);
  }

  /** Memory for data, of which the size is known before: that of the rows of a weight, or of a range. */
  #admit(head: FrameHead): Uint8Array {
    const { kind, operands, dataBytes } = head;
    if (kind === FRAME.pack) {
      const { weight, rows } = this.#rowsOf(operands);
      if (rowsBytes(weight, rows) !== dataBytes) unexpected(head);
    } else if (kind !== FRAME.upload || dataBytes > UPLOAD_BYTES) unexpected(head);
    return new Uint8Array(dataBytes);
  }

  /** What makes and ends things: none of it has an answer. */
  #creations(): [number, Handler][] {
    const { buffers, streams, steps, programs } = this.#objects;
    const device = this.#device;
    return [
      [
        FRAME.createBuffer,
        ([id = 0, bytes = 0], { text }) => buffers.make(id, () => device.createBuffer(bytes, String(text))),
      ],
      [FRAME.dropBuffer, ([id = 0]) => buffers.take(id)?.[Symbol.dispose]()],
      [
        FRAME.createStream,
        ([id = 0], { text }) => streams.make(id, () => new ServedStream(device, String(text))),
      ],
      [
        FRAME.endStream,
        ([request = 0, id = 0]) =>
          this.#answer(request, async () => {
            await streams.take(id)?.[Symbol.asyncDispose]();
          }),
      ],
      [FRAME.dropStep, ([id = 0]) => steps.take(id)?.[Symbol.dispose]()],
      [FRAME.dropProgram, ([id = 0]) => void programs.take(id)],
    ];
  }

  #streamOrders(): [number, Handler][] {
    const { streams, steps, events } = this.#objects;
    return [
      [
        FRAME.upload,
        ([stream = 0, buffer = 0, offset = 0], { data }) =>
          streams.get(stream).upload(data, () => this.#range(buffer, offset, data.byteLength)),
      ],
      [
        FRAME.copy,
        ([stream = 0, from = 0, fromOffset = 0, to = 0, toOffset = 0, bytes = 0]) =>
          streams
            .get(stream)
            .copy(() => [this.#range(from, fromOffset, bytes), this.#range(to, toOffset, bytes)]),
      ],
      [
        FRAME.download,
        ([request = 0, stream = 0, buffer = 0, offset = 0, bytes = 0]) => {
          this.#download(request, stream, [buffer, offset, bytes]);
        },
      ],
      [
        FRAME.pack,
        (operands, { data }) => streams.get(operands[0] ?? 0).pack(data, () => this.#rowsTarget(operands)),
      ],
      [
        FRAME.packOwn,
        (operands, { text }) =>
          streams.get(operands[0] ?? 0).pack(this.#ownRows(operands, text), () => this.#rowsTarget(operands)),
      ],
      [FRAME.run, ([stream = 0, step = 0]) => streams.get(stream).run(() => steps.get(step))],
      [FRAME.mark, ([stream = 0, event = 0]) => this.#mark(streams.get(stream), event)],
      [
        FRAME.wait,
        ([stream = 0, event = 0]) => {
          // What was reached is forgotten: there is nothing to wait for.
          const found = events.get(event);
          if (found) streams.get(stream).wait(found);
        },
      ],
    ];
  }

  #deviceRequests(): [number, Handler][] {
    const { programs, steps } = this.#objects;
    const device = this.#device;
    return [
      [
        FRAME.compile,
        ([request = 0, id = 0], { text }) =>
          this.#answer(request, async () => {
            const program = await device.compile(graphIn(text));
            programs.make(id, () => program);
            return describeProgram(program);
          }),
      ],
      [
        FRAME.record,
        ([request = 0, id = 0], { text }) =>
          this.#answer(request, async () => {
            const { label, executables } = text as { label: string; executables: SentExecutable[] };
            const step = await this.#objects.record(device, executables, label);
            steps.make(id, () => step);
          }),
      ],
      [
        FRAME.openFile,
        ([request = 0], { text }) =>
          this.#answer(request, async () => {
            if (!this.#openFile) throw new RangeError('nobody may name files here');
            this.#file = await this.#openFile(String(text));
            return this.#file.fingerprint;
          }),
      ],
      [FRAME.memory, ([request = 0]) => this.#answer(request, () => device.memory())],
      [FRAME.settle, ([request = 0]) => this.#answer(request, async () => device.settle?.())],
      [
        FRAME.readyToDecode,
        ([request = 0, program = 0, weight = 0, part = 0, format = 0]) =>
          this.#answer(request, async () => {
            const own = this.#objects.weight(program, weight);
            return (await device.readyToDecode?.(own, part, formatWith(format))) ?? false;
          }),
      ],
    ];
  }

  #peerRequests(): [number, Handler][] {
    const peers = this.#peers;
    return [
      [
        FRAME.joinPeers,
        ([request = 0, rank = 0, ranks = 0], { text }) =>
          this.#answer(request, () => peers.join({ id: idIn(text), rank, ranks })),
      ],
      [FRAME.leavePeers, ([request = 0]) => this.#answer(request, () => peers.leave())],
      [FRAME.abortPeers, (_, { text }) => peers.abort(errorIn(text))],
    ];
  }

  /** Answers a request when its work is done; what is behind it does not wait. */
  #answer(request: number, work: () => Promise<unknown>): void {
    const answering = work()
      .then(
        (text) => this.#connection.send({ kind: FRAME.answer, operands: [request], text }),
        (error: unknown) => this.#fail(request, error),
      )
      .finally(() => this.#answering.delete(answering));
    this.#answering.add(answering);
  }

  #download(request: number, stream: number, [buffer, offset, bytes]: [number, number, number]): void {
    const { streams } = this.#objects;
    const read = async () => {
      // A range outside its buffer is refused before there is memory for it.
      const range = this.#range(buffer, offset, bytes);
      const into = new Uint8Array(bytes);
      await streams.get(stream).download(range, into);
      this.#connection.send({ kind: FRAME.answer, operands: [request], data: into });
    };
    const reading = read()
      .catch((error: unknown) => this.#fail(request, error))
      .finally(() => this.#answering.delete(reading));
    this.#answering.add(reading);
  }

  #mark(stream: ServedStream, id: number): void {
    const { events } = this.#objects;
    const event = stream.record();
    events.set(id, event);
    // One that has failed stays: whoever waits for it fails, too.
    event.completed().then(
      () => {
        events.delete(id);
        this.#connection.send({ kind: FRAME.reached, operands: [id, performance.now()] });
      },
      (error: unknown) =>
        this.#connection.send({ kind: FRAME.missed, operands: [id], text: packError(error) }),
    );
  }

  #fail(request: number, error: unknown): void {
    this.#connection.send({ kind: FRAME.failed, operands: [request], text: packError(error) });
  }

  /** Throws for a range that is outside its buffer, or that fails with it. */
  #range(buffer: number, offset: number, byteLength: number): BufferRange {
    const found = this.#objects.buffers.get(buffer);
    if (!(offset >= 0 && byteLength >= 0 && offset + byteLength <= found.byteLength)) {
      throw new RangeError(`bytes ${offset} to ${offset + byteLength} are outside ${found.label}`);
    }
    return { buffer: found, offset, byteLength };
  }

  #rowsOf([
    ,
    ,
    ,
    program = 0,
    weight = 0,
    part = 0,
    firstRow = 0,
    rowCount = 0,
    format = 0,
  ]: readonly number[]) {
    const own = this.#objects.weight(program, weight);
    const rows: WeightRows = { part, firstRow, rowCount, format: formatWith(format) };
    return { weight: own, rows };
  }

  #rowsTarget(operands: readonly number[]): RowsTarget {
    const [, buffer = 0, offset = 0] = operands;
    const { weight, rows } = this.#rowsOf(operands);
    return { weight, rows, range: this.#range(buffer, offset, weight.byteLength) };
  }

  /** Rows of this process's own file. Rejects for what is not there, before there is memory for it. */
  async #ownRows(operands: readonly number[], text: unknown): Promise<Uint8Array> {
    const { weight, rows } = this.#rowsOf(operands);
    const bytes = rowsBytes(weight, rows);
    const { tensor: name, offset, cut } = checkSentRows(text, bytes);
    const tensor = this.#file?.tensor(name);
    const span = cut ? cutSpan(cut) : bytes;
    if (!tensor || offset + span > tensor.byteLength || tensor.format !== rows.format) {
      throw new RangeError(`the file of this process has no ${span} bytes at ${offset} of ${name}`);
    }
    const found = new Uint8Array(span);
    await tensor.read(offset, found);
    if (!cut) return found;
    const into = new Uint8Array(bytes);
    copyCut(cut, found, into);
    return into;
  }
}

/** Throws for what is no id. */
function idIn(text: unknown): Uint8Array {
  const isByte = (one: unknown) => Number.isInteger(one) && (one as number) >= 0 && (one as number) < 256;
  if (!Array.isArray(text) || !text.every(isByte)) throw new RangeError('an id consists of bytes');
  return Uint8Array.from(text as number[]);
}

/** Throws for what is no graph. */
function graphIn(text: unknown): OpGraph {
  return unpackGraph(text ?? {});
}
