import { floatToHalf } from '../base/half.ts';
import type { BlockDecoder, DecodeWork } from '../device/index.ts';

/** Decodes on the calling thread by the formats' own decoders: everywhere there is, and slow. */
export const scalarDecoder: BlockDecoder = {
  threads: 1,
  async decode(work) {
    decodeScalar(work);
  },
  async [Symbol.asyncDispose]() {},
};

function decodeScalar({ format, source, become, into }: DecodeWork): void {
  const blocks = source.byteLength / format.blockBytes;
  const floats = new Float32Array(blocks * format.blockElements);
  format.decode(source, 0, floats, 0, blocks);
  if (become.name === 'F16') into.set(new Uint8Array(Uint16Array.from(floats, floatToHalf).buffer));
  else into.set(new Uint8Array(floats.buffer));
}
