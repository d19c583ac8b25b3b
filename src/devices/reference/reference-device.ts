import { applyByKind } from '../../base/kind-table.ts';
import { bytesOf, type Device, HostDevice } from '../../device/index.ts';
import { weightRowBytes } from '../../ops/index.ts';
import { Frame } from './frame.ts';
import { RUN_OPS } from './run-ops.ts';

/** Options of the reference device. */
export interface ReferenceDeviceOptions {
  /** Maximum total size of buffers in bytes. Default 8 GiB. */
  readonly memoryBytes?: number;
}

/**
 * The oracle: computes every operator in f64 by its formula, with weights decoded row by row from the file's format.
 * Slow; it defines the correct results.
 */
export function openReferenceDevice({ memoryBytes = 2 ** 33 }: ReferenceDeviceOptions = {}): Device {
  return new HostDevice({
    info: { backend: 'reference', name: 'Reference (f64)', details: { precision: 'f64' } },
    memoryBytes,
    allocate: (byteLength) => new Uint8Array(byteLength),
    moves: {
      upload: (source, target) => bytesOf(target).set(source),
      copy: (source, target) => bytesOf(target).set(bytesOf(source)),
      download: (source, into) => into.set(bytesOf(source).subarray(0, into.byteLength)),
      pack: (weight, { part, firstRow, rowCount }, { pinned, offset }, target) => {
        const of = weight.parts[part];
        const rowBytes = of ? weightRowBytes(of) : 0;
        bytesOf(target).set(pinned.bytes.subarray(offset, offset + rowCount * rowBytes), firstRow * rowBytes);
      },
    },
    compile: (graph) => ({
      scratchBytes: 0,
      prepare: (program, bindings) => () => {
        const frame = new Frame(program, bindings);
        for (const op of graph.ops) applyByKind(RUN_OPS, op, frame);
      },
    }),
  });
}
