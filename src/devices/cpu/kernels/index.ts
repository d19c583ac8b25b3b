/** The kernels' exports: functions of addresses in one shared memory, without state of their own. */
export { widen, narrow } from './half';
export * from './decode';
export * from './format-exports';
export { quantize } from './quantize';
export * from './experts';
export * from './matvec';
export * from './matmat';
export * from './floats';
export * from './elementwise';
export * from './rows';
export { rope } from './rope';
export { wkv7 } from './wkv7';
export * from './state-space';
export { scanChunk, scanPairs } from './scan-chunks';
export { attention } from './attention';
export { indexScores } from './index-scores';
export { quantizeFiveBitBlocks, quantizeNibbleBlocks, quantizeStateBlocks } from './state-blocks';

/** The first address that a host may use: below lie the kernels' tables. */
export function heapBase(): usize {
  return __heap_base;
}
