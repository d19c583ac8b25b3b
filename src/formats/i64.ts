import { plainFormat } from './plain-format.ts';

/** Signed 64-bit integers; decoding rounds to float32. */
export const I64 = plainFormat({
  name: 'I64',
  ggmlType: 27,
  bytes: 8,
  get: (bytes, at) => Number(bytes.getBigInt64(at, true)),
  set: (bytes, at, value) => bytes.setBigInt64(at, BigInt(Math.trunc(value)), true),
  encodes: false,
});
