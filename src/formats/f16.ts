import { floatToHalf, halfToFloat } from '../base/half.ts';
import { plainFormat } from './plain-format.ts';

/** IEEE 754 binary16. */
export const F16 = plainFormat({
  name: 'F16',
  ggmlType: 1,
  bytes: 2,
  get: (bytes, at) => halfToFloat(bytes.getUint16(at, true)),
  set: (bytes, at, value) => bytes.setUint16(at, floatToHalf(value), true),
  encodes: true,
});
