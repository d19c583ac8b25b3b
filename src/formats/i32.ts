import { plainFormat } from './plain-format.ts';

/** Signed 32-bit integers; decoding rounds to float32. */
export const I32 = plainFormat({
  name: 'I32',
  ggmlType: 26,
  bytes: 4,
  get: (bytes, at) => bytes.getInt32(at, true),
  set: (bytes, at, value) => bytes.setInt32(at, value, true),
  encodes: false,
});
