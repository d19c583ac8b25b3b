import { entry } from './entry.ts';

/** Failures of reading bytes: files, Blobs, remote files. */
export const ioErrors = {
  READ_OUT_OF_RANGE: entry<{ source: string; offset: number; length: number; size: number }>(
    400,
    'A read is outside the bounds of the source.',
    'Read only ranges inside the source.',
    (p) => `${p.source}: ${p.length} bytes at ${p.offset} were requested, the source has ${p.size}`,
  ),
  READ_SHORT: entry<{ source: string; offset: number; length: number; found: number }>(
    502,
    'The data ended before the read was complete: the file shrank or the connection was interrupted.',
    'Check that nothing writes to the file, or that the download is complete, and try again.',
    (p) => `${p.source}: found ${p.found} bytes at ${p.offset}, expected ${p.length}`,
  ),
  READ_FAILED: entry<{ source: string; offset: number; length: number; reason: string }>(
    502,
    'The system or the network failed to read.',
    'See the reason, and try again once it is resolved.',
    (p) => `${p.source}: reading ${p.length} bytes at ${p.offset} failed: ${p.reason}`,
  ),
  SOURCE_CHANGED: entry<{ source: string; what: string; found: string; expected: string }>(
    409,
    'The file was replaced while it was being read.',
    'Open the model again.',
    (p) => `${p.source} changed while it was open: ${p.what} is ${p.found}, was ${p.expected}`,
  ),
  SOURCE_UNAVAILABLE: entry<{ source: string; reason: string }>(
    404,
    'A file or address cannot be opened.',
    'Check the path or the address, the network and its proxy, and the permission to read it. Names of models begin with hf: or ollama:.',
    (p) => `${p.source} cannot be opened: ${p.reason}`,
  ),
  WRITE_FAILED: entry<{ path: string; reason: string }>(
    500,
    'A file cannot be written.',
    'Check the folder, the permission to write there and the free space.',
    (p) => `${p.path} cannot be written: ${p.reason}`,
  ),
  FOLDER_IN_USE: entry<{ folder: string; holder: string }>(
    409,
    'Another process uses a folder that only one may use at a time.',
    'Stop the other process, or name another folder.',
    (p) => `${p.folder} is in use by ${p.holder}`,
  ),
  HTTP_STATUS: entry<{ source: string; found: number; expected: number }>(
    502,
    'A server answered with an unexpected status.',
    'Check the address and whether it needs an authorization header.',
    (p) => `${p.source}: the server answered with status ${p.found}, expected ${p.expected}`,
  ),
  HTTP_NO_RANGES: entry<{ source: string; found: string }>(
    502,
    'A server does not serve byte ranges, so that a remote file cannot be read in parts.',
    'Download the file and open it from disk, or use a server that answers Range requests with 206.',
    (p) =>
      `${p.source}: the server does not serve byte ranges (found ${p.found}, expected 206 with Content-Range)`,
  ),
  HASH_MISMATCH: entry<{ source: string; found: string; expected: string }>(
    502,
    'A file does not have the expected SHA-256 and was not stored.',
    'Check the address and the hash, and load it again.',
    (p) => `${p.source}: found SHA-256 ${p.found}, expected ${p.expected}`,
  ),
} as const;
