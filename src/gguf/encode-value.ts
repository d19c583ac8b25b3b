import { ByteBuilder } from './byte-builder.ts';
import type { GgufArray, GgufValue } from './gguf-value.ts';
import type { EncodedValue } from './metadata.ts';
import { VALUE_TYPES } from './value-type.ts';

/**
 * The bytes of a value that follow its type id. Throws `INVALID_ARGUMENT` for a number that its type cannot represent.
 */
export function encodeValue(value: GgufValue): EncodedValue {
  if ('payload' in value) return value;
  const out = new ByteBuilder();
  switch (value.type) {
    case 'array':
      appendArray(out, value);
      break;
    case 'string':
      out.text(value.value);
      break;
    case 'bool':
      out.number('u8', value.value ? 1 : 0);
      break;
    default:
      out.number(value.type, value.value);
  }
  return { type: value.type, payload: out.bytes() };
}

function appendArray(out: ByteBuilder, array: GgufArray): void {
  out.u32(VALUE_TYPES.indexOf(array.element));
  out.u64(array.values.length);
  switch (array.element) {
    case 'array':
      for (const inner of array.values) appendArray(out, inner);
      break;
    case 'string':
      for (const text of array.values) out.text(text);
      break;
    case 'bool':
      for (const value of array.values) out.number('u8', value ? 1 : 0);
      break;
    default:
      for (let i = 0; i < array.values.length; i++) {
        out.number(array.element, array.values[i] as number | bigint);
      }
  }
}
