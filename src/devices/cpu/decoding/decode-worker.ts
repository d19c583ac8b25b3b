import { invariant } from '../../../base/errors.ts';
import type { WorkerPort } from '../../../device/index.ts';
import { formatOf, type TensorFormat } from '../../../formats/index.ts';
import { FILE_SCRATCH_BYTES, KERNEL_SCRATCH_BYTES, reservedBytes } from '../protocol/reserved.ts';
import { BankInstance } from '../worker/bank-instance.ts';
import { decoderOf } from '../worker/decoder.ts';
import type { DecodeAnswer, DecodeRequest } from './messages.ts';

/** Elements decoded at a time: their floats stay in a core's private cache until they are copied out. */
const PIECE_ELEMENTS = 32 * 1024;

const WASM_PAGE_BYTES = 64 * 1024;

/** Makes this thread decode blocks for a `BlockDecoder`. */
export function runDecodeWorker(port: WorkerPort): void {
  let worker: DecodeWorker | undefined;
  port.onMessage((data) => {
    const request = data as DecodeRequest;
    if (request.kind === 'start') {
      worker = new DecodeWorker(request.kernels, request.worker);
      return;
    }
    if (request.kind === 'share') worker?.share(request.id, request.memory);
    else if (request.kind === 'forget') worker?.forget(request.id);
    else port.post({ failure: failureOf(worker, request) } satisfies DecodeAnswer);
  });
}

type Decoding = Extract<DecodeRequest, { source: unknown }>;

function failureOf(worker: DecodeWorker | undefined, request: Decoding): string | undefined {
  try {
    invariant(worker, 'a worker is started before it decodes');
    if (request.kind === 'decode') worker.decode(request);
    else worker.decodeInPlace(request);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

class DecodeWorker {
  readonly #kernels: WebAssembly.Module;
  readonly #index: number;
  readonly #own: BankInstance;
  readonly #shared = new Map<number, BankInstance>();

  constructor(kernels: WebAssembly.Module, index: number) {
    this.#kernels = kernels;
    this.#index = index;
    const pages = Math.ceil(reservedBytes(heapBaseOf(kernels), 1) / WASM_PAGE_BYTES);
    this.#own = new BankInstance(kernels, sharedMemory(pages), { worker: 0 });
  }

  share(id: number, memory: WebAssembly.Memory): void {
    this.#shared.set(id, new BankInstance(this.#kernels, memory, { worker: this.#index }));
  }

  forget(id: number): void {
    this.#shared.delete(id);
  }

  /** Decodes piece by piece through memory that the kernels see. */
  decode({ ggmlType, source, into, toF16 }: Extract<Decoding, { kind: 'decode' }>): void {
    const format = known(ggmlType);
    const { blockBytes, blockElements } = format;
    const blocks = source.byteLength / blockBytes;
    const bank = this.#own;
    const file = fileScratch(bank);
    const elementBytes = toF16 ? 2 : 4;
    forPieces(format, blocks, (first, count) => {
      const piece = source.subarray(first * blockBytes, (first + count) * blockBytes);
      bank.bytes(file, piece.byteLength).set(piece);
      const floats = floatScratch(bank);
      decoderOf(format, bank)(file, floats, count, bank.scratch);
      const elements = count * blockElements;
      // The file's bytes are no longer needed.
      if (toF16) bank.kernels.narrow(floats, file, elements);
      const decoded = bank.bytes(toF16 ? file : floats, elements * elementBytes);
      into.set(decoded, first * blockElements * elementBytes);
    });
  }

  /** Decodes without copies if the kernels see both source and target. */
  decodeInPlace(request: Extract<Decoding, { kind: 'decode in place' }>): void {
    const { ggmlType, id, source, blocks, into, toF16 } = request;
    const format = known(ggmlType);
    const bank = this.#shared.get(id);
    invariant(bank, 'memory is shared before it is worked on');
    const decode = decoderOf(format, bank);
    if (!toF16) {
      decode(source, into, blocks, bank.scratch);
      return;
    }
    const { blockBytes, blockElements } = format;
    const floats = floatScratch(bank);
    forPieces(format, blocks, (first, count) => {
      decode(source + first * blockBytes, floats, count, bank.scratch);
      bank.kernels.narrow(floats, into + 2 * first * blockElements, count * blockElements);
    });
  }
}

function known(ggmlType: number): TensorFormat {
  const format = formatOf(ggmlType);
  invariant(format, 'blocks have a known format');
  return format;
}

function forPieces(
  { blockElements }: TensorFormat,
  blocks: number,
  piece: (first: number, count: number) => void,
): void {
  const most = Math.max(1, Math.floor(PIECE_ELEMENTS / blockElements));
  for (let first = 0; first < blocks; first += most) piece(first, Math.min(most, blocks - first));
}

function fileScratch({ scratch }: BankInstance): number {
  return scratch + KERNEL_SCRATCH_BYTES;
}

function floatScratch(bank: BankInstance): number {
  return fileScratch(bank) + FILE_SCRATCH_BYTES;
}

function heapBaseOf(kernels: WebAssembly.Module): number {
  const env = { memory: sharedMemory(4), abort: () => {} };
  const { heapBase } = new WebAssembly.Instance(kernels, { env }).exports;
  return (heapBase as () => number)();
}

function sharedMemory(pages: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}
