import { plainFormat } from './plain-format.ts';

/** Signed 8-bit integers. */
export const I8 = plainFormat({
  name: 'I8',
  ggmlType: 24,
  bytes: 1,
  get: (bytes, at) => bytes.getInt8(at),
  set: (bytes, at, value) => bytes.setInt8(at, value),
  encodes: false,
});
