import { plainFormat } from './plain-format.ts';

/** Signed 16-bit integers. */
export const I16 = plainFormat({
  name: 'I16',
  ggmlType: 25,
  bytes: 2,
  get: (bytes, at) => bytes.getInt16(at, true),
  set: (bytes, at, value) => bytes.setInt16(at, value, true),
  encodes: false,
});
