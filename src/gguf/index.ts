export type { MetadataArray, MetadataValue } from './decode-value.ts';
export { GgufFile, type GgufOpenOptions } from './gguf-file.ts';
export type { GgufPart } from './gguf-part.ts';
export { type EncodedValue, GgufMetadata, type TypeName } from './metadata.ts';
export { splitPartName } from './split.ts';
export { loadTensorBytes, loadTensorFloats, type TensorInfo } from './tensor-info.ts';
export type { NumberType, ValueType } from './value-type.ts';
