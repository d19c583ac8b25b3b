/** Reads MessagePack, for tests of what writes it: integers of 64 bits as bigint. */
export function unpacked(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (count: number) => {
    at += count;
    return at - count;
  };
  const text = (length: number) => {
    const from = take(length);
    return new TextDecoder().decode(bytes.subarray(from, from + length));
  };
  const list = (length: number) => Array.from({ length }, value);
  const map = (length: number) => Object.fromEntries(Array.from({ length }, () => [value(), value()]));
  function value(): unknown {
    const tag = view.getUint8(take(1));
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 256;
    if (tag >= 0xa0 && tag < 0xc0) return text(tag & 0x1f);
    if (tag >= 0x80 && tag < 0x90) return map(tag & 0xf);
    if (tag >= 0x90 && tag < 0xa0) return list(tag & 0xf);
    switch (tag) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xcb:
        return view.getFloat64(take(8));
      case 0xcc:
        return view.getUint8(take(1));
      case 0xcd:
        return view.getUint16(take(2));
      case 0xce:
        return view.getUint32(take(4));
      case 0xcf:
        return view.getBigUint64(take(8));
      case 0xd3:
        return view.getBigInt64(take(8));
      case 0xd9:
        return text(view.getUint8(take(1)));
      case 0xda:
        return text(view.getUint16(take(2)));
      case 0xdc:
        return list(view.getUint16(take(2)));
      case 0xde:
        return map(view.getUint16(take(2)));
      case 0xdd:
        return list(view.getUint32(take(4)));
      default:
        throw new Error(`no value begins with ${tag.toString(16)}`);
    }
  }
  const read = value();
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes follow the value`);
  return read;
}
