import { plainFormat } from './plain-format.ts';

/** IEEE 754 binary64; decoding rounds to float32. */
export const F64 = plainFormat({
  name: 'F64',
  ggmlType: 28,
  bytes: 8,
  get: (bytes, at) => bytes.getFloat64(at, true),
  set: (bytes, at, value) => bytes.setFloat64(at, value, true),
  encodes: true,
});
