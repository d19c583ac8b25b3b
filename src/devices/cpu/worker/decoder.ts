import type { TensorFormat } from '../../../formats/index.ts';
import type { DecodeKernel } from '../kernel-exports.ts';
import { WEIGHT_LAYOUTS } from '../weight-layouts.ts';
import type { BankInstance } from './bank-instance.ts';

/**
 * Decodes blocks of a format to f32 within a bank: with a kernel if there is one, otherwise with the format's own
 * decoder (which for F32 is a copy).
 */
export function decoderOf(format: TensorFormat, bank: BankInstance): DecodeKernel {
  const layout = WEIGHT_LAYOUTS[format.name];
  if (layout && format.name !== 'F32') return bank.kernel<DecodeKernel>(layout.decode);
  const { blockBytes, blockElements } = format;
  return (source, out, blocks) => {
    const bytes = bank.bytes(source, blocks * blockBytes);
    format.decode(bytes, 0, bank.floats(out, blocks * blockElements), 0, blocks);
  };
}
