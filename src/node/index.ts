/** `rocmforge/node`: files, memory-mapped files and URLs as byte sources, and a logger. */
export { FileSink } from './file-sink.ts';
export { FileSource } from './file-source.ts';
export { createLogger, type LoggerOptions } from './logger.ts';
export { MappedSource, type MappedSourceOptions } from './mapped-source.ts';
export { type OpenGgufOptions, openGguf } from './open-gguf.ts';
export { type OpenSourceOptions, openSource } from './open-source.ts';
