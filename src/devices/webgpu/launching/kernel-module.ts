import { floatText } from '../kernels/library/float-text.ts';
import { joinWgsl, type Wgsl } from '../kernels/library/wgsl.ts';

/** How a kernel uses a buffer: `uniform` and `read` leave it as it is. */
export type Access = 'uniform' | 'read' | 'write';

/** A buffer of a kernel: its name in the text, its WGSL type, and what is done to it. */
export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly access: Access;
}

/** A compile-time constant: an integer without sign unless said otherwise. */
export type Constant = number | boolean | { readonly f32: number };

/** A kernel text with its definitions: what is compiled as one. Its entry point is `main`. */
export interface KernelModule {
  readonly name: string;
  /** In the order of their bindings. */
  readonly parameters: readonly Parameter[];
  readonly constants: Readonly<Record<string, Constant>>;
  /** In any order. */
  readonly texts: readonly Wgsl[];
}

/**
 * The WGSL of a module. `accesses` are the parameters' as they are bound: a parameter that is only read is bound for writing
 * where another part of its buffer is written, because WebGPU tells uses of a buffer apart, not of its parts.
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
