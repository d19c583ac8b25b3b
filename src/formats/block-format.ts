import { halfToFloat } from '../base/half.ts';
import type { BlockLayout } from './block-layout.ts';
import { type BlockSource, blockSource } from './encoding/block-source.ts';
import { PlainFits } from './encoding/plain-fits.ts';
import { fillRandomBytes } from './random-bytes.ts';
import type { TensorFormat } from './tensor-format.ts';

/** The definition of a format: the layout of one block and what its bytes mean. */
export interface BlockSpec {
  readonly name: string;
  readonly ggmlType: number;
  readonly blockElements: number;
  readonly blockBytes: number;

  /**
   * The layout of the block, from which devices generate their unpacking code. `decodeBlock` is the oracle that tests
   * compare it with.
   */
  readonly layout: BlockLayout;

  /** Decodes the block at byte `at` into the floats from `to` on. */
  decodeBlock(bytes: DataView, at: number, out: Float32Array, to: number): void;

  /** Encodes the block of `source` into the block at byte `at`, whose bytes it overwrites. */
  encodeBlock?(source: BlockSource, bytes: DataView, at: number): void;

  /**
   * Turns a block of random bits at byte `at` into weights of mean 0 and about the given standard deviation, by setting
   * its scales. If a constant below states the deviation of a random block of scale 1, a test holds it to a few
   * percent.
   */
  tame(bytes: DataView, at: number, deviation: number): void;
}

/** Creates a format from the definition of its blocks. */
export function blockFormat(spec: BlockSpec): TensorFormat {
  const { name, ggmlType, blockElements, blockBytes, layout, encodeBlock } = spec;
  const format: TensorFormat = {
    name,
    ggmlType,
    blockElements,
    blockBytes,
    layout,
    decode(src, srcOffset, dst, dstOffset, blockCount) {
      const bytes = dataViewOf(src);
      for (let block = 0; block < blockCount; block++) {
        spec.decodeBlock(bytes, srcOffset + block * blockBytes, dst, dstOffset + block * blockElements);
      }
    },
    fillRandom(dst, random, deviation) {
      fillRandomBytes(dst, random);
      const bytes = dataViewOf(dst);
      for (let at = 0; at + blockBytes <= dst.byteLength; at += blockBytes) spec.tame(bytes, at, deviation);
    },
  };
  if (!encodeBlock) return format;
  return {
    ...format,
    encode(src, srcOffset, dst, dstOffset, blockCount, { importance, fits = new PlainFits() } = {}) {
      const bytes = dataViewOf(dst);
      const values = src.subarray(srcOffset, srcOffset + blockCount * blockElements);
      const source = blockSource(values, importance, fits);
      for (let block = 0; block < blockCount; block++) {
        source.from = block * blockElements;
        encodeBlock(source, bytes, dstOffset + block * blockBytes);
      }
    },
  };
}

/** The bytes of `array` as a DataView, at any alignment and in any kind of memory. */
export function dataViewOf(array: Uint8Array): DataView {
  return new DataView(array.buffer, array.byteOffset, array.byteLength);
}

/** The f16 at byte `at`, widened. */
export function halfAt(bytes: DataView, at: number): number {
  return halfToFloat(bytes.getUint16(at, true));
}

/**
 * The number or its negative, depending on a random bit at byte `at`: for formats whose codes are not symmetric about
 * 0.
 */
export function randomlySigned(bytes: DataView, at: number, value: number): number {
  return (bytes.getUint8(at) & 1) === 0 ? value : -value;
}
