import { invariant } from '../../../base/errors.ts';
import type { WorkerPort } from '../../../device/index.ts';
import { formatOf, type TensorFormat } from '../../../formats/index.ts';
import { FILE_SCRATCH_BYTES, KERNEL_SCRATCH_BYTES, reservedBytes } from '../protocol/reserved.ts';
import { BankInstance } from '../worker/bank-instance.ts';
import { decoderOf } from '../worker/decoder.ts';
import type { DecodeAnswer, DecodeRequest } from './messages.ts';

/** Elements decoded at a time: their floats stay in a core's own cache until they are copied out. */
const PIECE_ELEMENTS = 32 * 1024;

const WASM_PAGE_BYTES = 64 * 1024;

/** Makes this thread decode blocks for a `BlockDecoder`. */
export function runDecodeWorker(port: WorkerPort): void {
  let worker: DecodeWorker | undefined;
  port.onMessage((data) => {
    const request = data as DecodeRequest;
    if (request.kind === 'start') {
      worker = new DecodeWorker(request.kernels);
      return;
    }
    let failure: string | undefined;
    try {
      invariant(worker, 'a worker is started before it decodes');
      worker.decode(request);
    } catch (error) {
      failure = String(error);
    }
    port.post({ failure } satisfies DecodeAnswer);
  });
}

class DecodeWorker {
  readonly #bank: BankInstance;

  constructor(kernels: WebAssembly.Module) {
    const pages = Math.ceil(reservedBytes(heapBaseOf(kernels), 1) / WASM_PAGE_BYTES);
    this.#bank = new BankInstance(kernels, sharedMemory(pages), 0);
  }

  /** Piece by piece through memory that the kernels see. */
  decode({ ggmlType, source, into, halves }: Extract<DecodeRequest, { kind: 'decode' }>): void {
    const format = formatOf(ggmlType);
    invariant(format, 'blocks have a known format');
    const { blockBytes, blockElements } = format;
    const blocks = source.byteLength / blockBytes;
    const most = Math.max(1, Math.floor(PIECE_ELEMENTS / blockElements));
    const elementBytes = halves ? 2 : 4;
    for (let first = 0; first < blocks; first += most) {
      const count = Math.min(most, blocks - first);
      const piece = source.subarray(first * blockBytes, (first + count) * blockBytes);
      into.set(this.#decodePiece(format, piece, halves), first * blockElements * elementBytes);
    }
  }

  #decodePiece(format: TensorFormat, piece: Uint8Array, halves: boolean): Uint8Array {
    const bank = this.#bank;
    const file = bank.scratch + KERNEL_SCRATCH_BYTES;
    const floats = file + FILE_SCRATCH_BYTES;
    const blocks = piece.byteLength / format.blockBytes;
    const elements = blocks * format.blockElements;
    bank.bytes(file, piece.byteLength).set(piece);
    decoderOf(format, bank)(file, floats, blocks, bank.scratch);
    if (!halves) return bank.bytes(floats, 4 * elements);
    // The file's bytes are used up.
    bank.kernels.narrow(floats, file, elements);
    return bank.bytes(file, 2 * elements);
  }
}

function heapBaseOf(kernels: WebAssembly.Module): number {
  const env = { memory: sharedMemory(4), abort: () => {} };
  const { heapBase } = new WebAssembly.Instance(kernels, { env }).exports;
  return (heapBase as () => number)();
}

function sharedMemory(pages: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
}
