export { BlobSource } from './blob-source.ts';
export type { ByteSink } from './byte-sink.ts';
export type { ByteSource, MappedRange, SourceResolver } from './byte-source.ts';
export { CheckedSource } from './checked-source.ts';
export {
  checkSameFile,
  parseRangeResponse,
  type RangeResponse,
  type RemoteIdentity,
} from './http-range-response.ts';
export { type HttpRangeOptions, HttpRangeSource } from './http-range-source.ts';
export { MemorySink } from './memory-sink.ts';
export { MemorySource } from './memory-source.ts';
