import { bfloatToFloat, floatToBfloat } from '../base/half.ts';
import { plainFormat } from './plain-format.ts';

/** bfloat16: the upper half of a binary32. */
export const BF16 = plainFormat({
  name: 'BF16',
  ggmlType: 30,
  bytes: 2,
  get: (bytes, at) => bfloatToFloat(bytes.getUint16(at, true)),
  set: (bytes, at, value) => bytes.setUint16(at, floatToBfloat(value), true),
  encodes: true,
});
