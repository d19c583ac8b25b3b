/** The metadata value types of GGUF; a type's id in files is its index here (gguf.md, `gguf_metadata_value_type`). */
export const VALUE_TYPES = [
  'u8',
  'i8',
  'u16',
  'i16',
  'u32',
  'i32',
  'f32',
  'bool',
  'string',
  'array',
  'u64',
  'i64',
  'f64',
] as const;

/** The type of a metadata value. */
export type ValueType = (typeof VALUE_TYPES)[number];

/** The value types that are numbers. */
export type NumberType = Exclude<ValueType, 'bool' | 'string' | 'array'>;

/** Bytes of one value of each type; for strings and arrays the minimum, that of an empty one. */
export const MIN_VALUE_BYTES: Readonly<Record<ValueType, number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  string: 8,
  array: 12,
  u64: 8,
  i64: 8,
  f64: 8,
};

/** Whether all values of a type have the same length. */
export function isFixedSize(type: ValueType): boolean {
  return type !== 'string' && type !== 'array';
}

/** Whether `number` and `numbers` accept a type. */
export function isNumberType(type: ValueType): type is NumberType {
  return isFixedSize(type) && type !== 'bool';
}
