/** The record stored with a model's bytes. */
export interface StoreRecord {
  /** The file's name, for display. */
  readonly name: string;
  /** Its URL; undefined for a file of the user's. */
  readonly url?: string | undefined;
  /** Size of the whole file in bytes. */
  readonly size: number;
  /** Identifies this version of the file, if its server provides a validator. */
  readonly validator?: string | undefined;
  /** The hash of the whole file in hexadecimal; present once all bytes are stored and verified. */
  readonly sha256?: string | undefined;
  /** Milliseconds since 1970. */
  readonly added: number;
  readonly used: number;
}

/** A record as it is written: of two, the one with the higher version is valid. */
export interface WrittenRecord extends StoreRecord {
  readonly version: number;
}

/** Parses a record; undefined if it was only partially written or is not one of ours. */
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
