import { crc32, deflateRawSync } from 'node:zlib';

/** A ZIP archive of texts, packed but for every other one. */
export function zip(files: Readonly<Record<string, string>>): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [at, [path, text]] of Object.entries(files).entries()) {
    const [name, plain] = [Buffer.from(path), Buffer.from(text)];
    const packed = at % 2 === 0 ? deflateRawSync(plain) : plain;
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(at % 2 === 0 ? 8 : 0, 4);
    facts.writeUInt32LE(crc32(plain), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(plain.length, 18);
    facts.writeUInt16LE(name.length, 22);
    bodies.push(Buffer.from('PK\u0003\u0004'), facts, name, packed);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000'), facts, place, name);
    offset += 4 + facts.length + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}
