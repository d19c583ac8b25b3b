import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Crc32 } from '../../src/base/crc32.ts';

test('the checksum is that of zlib, however the bytes are cut', () => {
  // Known values: of the digits that all descriptions of CRCs use, and of Python's zlib.crc32(bytes(range(256))).
  const digits = new TextEncoder().encode('123456789');
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  for (const [of, expected] of [
    [digits, 0xcbf43926],
    [bytes, 0x29058c73],
    [new Uint8Array(0), 0],
  ] as const) {
    for (const step of [1, 3, 8, 13, 256]) {
      const crc = new Crc32();
      for (let at = 0; at < of.length; at += step) crc.update(of.subarray(at, at + step));
      assert.equal(crc.value, expected, `${of.length} bytes in pieces of ${step}`);
    }
  }
});
