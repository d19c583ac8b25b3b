import { floatText } from '../kernels/library/float-text.ts';
import { joinWgsl, type Wgsl } from '../kernels/library/wgsl.ts';

/** How a kernel uses a buffer: `uniform` and `read` do not modify it. */
export type Access = 'uniform' | 'read' | 'write';

/** A buffer of a kernel: its name in the text, its WGSL type, and how it is used. */
export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly access: Access;
}

/** A compile-time constant: an unsigned integer by default. */
export type Constant = number | boolean | { readonly f32: number };

/** A kernel's WGSL with its definitions: the unit of compilation. Its entry point is `main`. */
export interface KernelModule {
  readonly name: string;
  /** In the order of their bindings. */
  readonly parameters: readonly Parameter[];
  readonly constants: Readonly<Record<string, Constant>>;
  /** In any order. */
  readonly texts: readonly Wgsl[];
}

/**
 * The WGSL of a module. `accesses` are those with which the parameters are bound: a parameter that is only read is
 * bound for writing if another part of its buffer is written, because WebGPU tracks the use of whole buffers.
 */
export function moduleText(module: KernelModule, accesses: readonly Access[]): string {
  const { parameters, constants, texts } = module;
  return joinWgsl(texts, [
    ...Object.entries(constants).map(([name, value]) => `const ${name} = ${constantText(value)};`),
    ...parameters.map(
      ({ name, type }, i) =>
        `@group(0) @binding(${i}) var<${spaceOf(accesses[i] as Access)}> ${name}: ${type};`,
    ),
  ]);
}

function spaceOf(access: Access): string {
  if (access === 'uniform') return 'uniform';
  return access === 'read' ? 'storage, read' : 'storage, read_write';
}

function constantText(value: Constant): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return `${value}u`;
  return floatText(value.f32);
}
