import type { Weight } from './safetensors.ts';

/** The rows `from` to `to`, a row being everything below the first dimension. */
export function rows({ shape, values }: Weight, from: number, to: number): Weight {
  const [count = 1, ...rest] = shape;
  const size = values.length / count;
  return { shape: [to - from, ...rest], values: values.slice(from * size, to * size) };
}

/** The same values under another shape. */
export function reshape({ values }: Weight, shape: readonly number[]): Weight {
  return { shape, values };
}

/** Every value replaced. */
export function mapValues({ shape, values }: Weight, replace: (value: number) => number): Weight {
  return { shape, values: values.map(replace) };
}

/** Tensors of the same row size, one below the other. */
export function stackRows(parts: readonly Weight[]): Weight {
  const [first] = parts;
  const values = new Float32Array(parts.reduce((sum, part) => sum + part.values.length, 0));
  let at = 0;
  for (const part of parts) {
    values.set(part.values, at);
    at += part.values.length;
  }
  const count = parts.reduce((sum, part) => sum + (part.shape[0] ?? 0), 0);
  return { shape: [count, ...(first?.shape.slice(1) ?? [])], values };
}

/** A tensor of three dimensions with two of them exchanged: `permute(axes)` of PyTorch, copied. */
export function permute(weight: Weight, axes: readonly [number, number, number]): Weight {
  const sizes = weight.shape;
  const strides = [(sizes[1] ?? 1) * (sizes[2] ?? 1), sizes[2] ?? 1, 1];
  const shape = axes.map((axis) => sizes[axis] ?? 1);
  const [a = 0, b = 0, c = 0] = axes.map((axis) => strides[axis] ?? 0);
  const values = new Float32Array(weight.values.length);
  let at = 0;
  for (let i = 0; i < (shape[0] ?? 0); i++) {
    for (let j = 0; j < (shape[1] ?? 0); j++) {
      for (let k = 0; k < (shape[2] ?? 0); k++) values[at++] = weight.values[i * a + j * b + k * c] ?? 0;
    }
  }
  return { shape, values };
}

/** Every second row of each matrix in a stack, from `first` on. */
export function everySecondRow({ shape, values }: Weight, first: 0 | 1): Weight {
  const [count = 1, height = 1, width = 1] = shape;
  const out = new Float32Array((count * height * width) / 2);
  for (let row = 0; row < (count * height) / 2; row++) {
    const from = (2 * row + first) * width;
    out.set(values.subarray(from, from + width), row * width);
  }
  return { shape: [count, height / 2, ...shape.slice(2)], values: out };
}
