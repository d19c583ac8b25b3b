/** What is written beside a stored model's bytes. */
export interface StoreRecord {
  /** The file's name, for people. */
  readonly name: string;
  /** Where it came from; undefined for a file that was dropped. */
  readonly url?: string | undefined;
  /** The whole file's bytes. */
  readonly size: number;
  /** What tells this version of the file from others, as far as its server says. */
  readonly validator?: string | undefined;
  /** Of the whole file, in hexadecimal; there when all bytes are there and were looked at. */
  readonly sha256?: string | undefined;
  /** Milliseconds since 1970. */
  readonly added: number;
  readonly used: number;
}

/** A record as it is written: of two the one with the larger version counts. */
export interface WrittenRecord extends StoreRecord {
  readonly version: number;
}

/** Reads a record; undefined where its writing was cut off or somebody else wrote there. */
export function parseRecord(text: string): WrittenRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, url, size, validator, sha256, added, used, version = 0 } = value as Record<string, unknown>;
  const isText = (of: unknown): of is string | undefined => of === undefined || typeof of === 'string';
  const isCount = (of: unknown): of is number => typeof of === 'number' && Number.isFinite(of) && of >= 0;
  if (typeof name !== 'string' || !isCount(size) || !isCount(added) || !isCount(used)) return undefined;
  if (!isCount(version)) return undefined;
  if (!isText(url) || !isText(validator) || !isText(sha256)) return undefined;
  return { name, url, size, validator, sha256, added, used, version };
}
