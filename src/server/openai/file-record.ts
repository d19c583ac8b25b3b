import { fail } from '../../base/errors.ts';
import { nowSeconds } from '../fresh-id.ts';
import type { OwnedStorage } from '../storage/owned-storage.ts';

/** A stored file, without its content; its size is the content's. */
export interface FileRecord {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly filename: string;
  readonly purpose: string;
  /** The batch that reads it, while it runs. */
  readonly usedBy?: string | undefined;
}

/** A file of OpenAI's API. Rejects with `STORED_NOT_FOUND`; what has expired is removed. */
export async function storedFile(stored: OwnedStorage, id: string): Promise<FileRecord> {
  const record = await stored.get<FileRecord>('file', id);
  if (record.expires_at === null || record.expires_at > nowSeconds()) return record;
  await stored.remove('file', id);
  return fail('STORED_NOT_FOUND', { what: 'a file', id });
}

/** What clients see of a file. */
export async function fileObject(stored: OwnedStorage, record: FileRecord): Promise<{ id: string }> {
  const { id, created_at, expires_at, filename, purpose } = record;
  const bytes = await stored.contentBytes('file', id);
  const expires = expires_at === null ? {} : { expires_at };
  return { id, ...{ object: 'file', bytes, created_at, ...expires, filename, purpose, status: 'processed' } };
}
